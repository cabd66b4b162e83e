import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeMap;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.checkpoint.LeaderEpochCheckpointFile;
import org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.BatchMetadata;
import org.apache.kafka.storage.internals.log.CompletedTxn;
import org.apache.kafka.storage.internals.log.EpochEntry;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.ProducerAppendInfo;
import org.apache.kafka.storage.internals.log.ProducerStateEntry;
import org.apache.kafka.storage.internals.log.ProducerStateManager;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;

/**
 * Kafka's own producer state and leader epochs on standard input and output: a command a line, an answer a line.
 *
 *   append ORIGIN VERSION HEX             → duplicate BASE LAST TIMESTAMP | exception's name | written FIRST:LAST:ABORTED:LSO
 *   verify PRODUCER EPOCH SEQUENCE BUMP   watermark OFFSET   start OFFSET   expire NOW   truncate OFFSET      → ok
 *   load HEX OFFSET NOW                   → ok, from a snapshot file of these bytes
 *   snapshot                              → hex of the snapshot that would be written
 *   state                                 → unstable undecided end, then every producer with its batches
 *   assign EPOCH OFFSET   cut-end OFFSET   cut-start OFFSET                             → the entries
 *   end EPOCH LOG_END   epoch-at OFFSET   before EPOCH                                  → the answer
 *   reset                                 → ok, everything is new
 */
public class ProducerStateOracle {
    private static final HexFormat HEX = HexFormat.of();
    private static final int EXPIRATION_MS = 86_400_000;
    private static final TopicPartition PARTITION = new TopicPartition("t", 0);

    private final Path folder;
    private final Time clock;
    private ProducerStateManager state;
    private LeaderEpochFileCache epochs;

    private ProducerStateOracle(Path folder, long nowMs) throws Exception {
        this.folder = folder;
        this.clock = (Time) Proxy.newProxyInstance(
            Time.class.getClassLoader(), new Class<?>[] {Time.class}, (proxy, method, values) -> nowMs);
        reset();
    }

    public static void main(String[] arguments) throws Exception {
        ProducerStateOracle oracle = new ProducerStateOracle(Path.of(arguments[0]), number(arguments[1]));
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        StringBuilder output = new StringBuilder();
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            output.append(oracle.answer(line.split(" "))).append('\n');
        }
        System.out.print(output);
    }

    private String answer(String[] words) throws Exception {
        switch (words[0]) {
            case "append": return append(AppendOrigin.valueOf(words[1]), Short.parseShort(words[2]), words[3]);
            case "verify": {
                int sequence = Integer.parseInt(words[3]);
                boolean bump = Boolean.parseBoolean(words[4]);
                state.maybeCreateVerificationStateEntry(number(words[1]), sequence, Short.parseShort(words[2]), bump);
                return "ok";
            }
            case "watermark": state.onHighWatermarkUpdated(number(words[1])); return "ok";
            case "start": state.onLogStartOffsetIncremented(number(words[1])); return "ok";
            case "expire": state.removeExpiredProducers(number(words[1])); return "ok";
            case "truncate": state.truncateFullyAndStartAt(number(words[1])); return "ok";
            case "load": return load(HEX.parseHex(words[1]), number(words[2]), number(words[3]));
            case "snapshot": return snapshot();
            case "state": return state();
            case "assign": epochs.assign(Integer.parseInt(words[1]), number(words[2])); return entries();
            case "cut-end": epochs.truncateFromEndAsyncFlush(number(words[1])); return entries();
            case "cut-start": epochs.truncateFromStartAsyncFlush(number(words[1])); return entries();
            case "end": return epochs.endOffsetFor(Integer.parseInt(words[1]), number(words[2])).toString();
            case "epoch-at": return text(epochs.epochForOffset(number(words[1])));
            case "before": return text(epochs.previousEpoch(Integer.parseInt(words[1])));
            case "reset": reset(); return "ok";
            default: throw new IllegalArgumentException(words[0]);
        }
    }

    private static long number(String word) {
        return Long.parseLong(word);
    }

    private static String text(OptionalInt value) {
        return value.isPresent() ? Integer.toString(value.getAsInt()) : "none";
    }

    private void reset() throws Exception {
        state = newState();
        Scheduler idle = (Scheduler) Proxy.newProxyInstance(
            Scheduler.class.getClassLoader(), new Class<?>[] {Scheduler.class}, (proxy, method, values) -> null);
        File file = folder.resolve("leader-epoch-checkpoint").toFile();
        epochs = new LeaderEpochFileCache(PARTITION, new NoFile(file), idle);
    }

    private ProducerStateManager newState() throws Exception {
        ProducerStateManagerConfig config = new ProducerStateManagerConfig(EXPIRATION_MS, true);
        return new ProducerStateManager(PARTITION, folder.toFile(), 900_000, config, clock);
    }

    /** The order of a log's append: duplicate, checks, write, update, completion. */
    private String append(AppendOrigin origin, short version, String hex) throws Exception {
        RecordBatch batch = MemoryRecords.readableRecords(ByteBuffer.wrap(HEX.parseHex(hex))).batches().iterator().next();
        Optional<ProducerStateEntry> known = state.lastEntry(batch.producerId());
        if (origin == AppendOrigin.CLIENT && known.isPresent()) {
            Optional<BatchMetadata> duplicate = findDuplicate(known.get(), batch);
            if (duplicate.isPresent()) {
                BatchMetadata original = duplicate.get();
                return "duplicate " + original.firstOffset() + " " + original.lastOffset() + " " + original.timestamp();
            }
        }
        ProducerAppendInfo info = state.prepareUpdate(batch.producerId(), origin);
        Optional<CompletedTxn> completed;
        try {
            completed = info.append(batch, Optional.empty(), version);
        } catch (RuntimeException exception) {
            return exception.getClass().getSimpleName();
        }
        if (batch.isTransactional()) state.clearVerificationStateEntry(batch.producerId());
        state.update(info);
        String answer = "written";
        if (completed.isPresent()) {
            CompletedTxn ended = completed.get();
            answer += " " + ended.firstOffset() + ":" + ended.lastOffset() + ":" + ended.isAborted() + ":" + state.lastStableOffset(ended);
            state.completeTxn(ended);
        }
        state.updateMapEndOffset(batch.lastOffset() + 1);
        return answer;
    }

    @SuppressWarnings("unchecked")
    private static Optional<BatchMetadata> findDuplicate(ProducerStateEntry entry, RecordBatch batch) throws Exception {
        Method method = ProducerStateEntry.class.getDeclaredMethod("findDuplicateBatch", RecordBatch.class);
        method.setAccessible(true);
        return (Optional<BatchMetadata>) method.invoke(entry, batch);
    }

    private String load(byte[] snapshot, long offset, long nowMs) throws Exception {
        Path file = folder.resolve(String.format("%020d.snapshot", offset));
        Files.write(file, snapshot);
        state = newState();
        state.truncateAndReload(0, offset, nowMs);
        Files.deleteIfExists(file);
        return "ok";
    }

    private String snapshot() throws Exception {
        Path file = folder.resolve("written");
        ProducerStateManager.writeSnapshot(file.toFile(), new TreeMap<>(state.activeProducers()), false);
        String hex = HEX.formatHex(Files.readAllBytes(file));
        Files.delete(file);
        return hex;
    }

    private String state() {
        StringBuilder text = new StringBuilder();
        text.append(state.firstUnstableOffset().map(offset -> offset.messageOffset).orElse(-1L)).append(' ');
        text.append(state.firstUndecidedOffset().orElse(-1L)).append(' ').append(state.mapEndOffset());
        for (Map.Entry<Long, ProducerStateEntry> each : new TreeMap<>(state.activeProducers()).entrySet()) {
            ProducerStateEntry entry = each.getValue();
            text.append(' ').append(each.getKey()).append(':').append(entry.producerEpoch()).append(':');
            text.append(entry.coordinatorEpoch()).append(':').append(entry.lastTimestamp()).append(':');
            text.append(entry.currentTxnFirstOffset().orElse(-1L));
            for (BatchMetadata batch : entry.batchMetadata()) {
                text.append('/').append(batch.lastSeq()).append(',').append(batch.lastOffset());
                text.append(',').append(batch.offsetDelta()).append(',').append(batch.timestamp());
            }
        }
        return text.toString();
    }

    private String entries() {
        StringBuilder text = new StringBuilder("entries");
        for (EpochEntry entry : epochs.epochEntries()) {
            text.append(' ').append(entry.epoch()).append(':').append(entry.startOffset());
        }
        return text.toString();
    }

    /** A checkpoint that is never written: only what is in memory matters here. */
    private static class NoFile extends LeaderEpochCheckpointFile {
        NoFile(File file) throws Exception {
            super(file, new LogDirFailureChannel(1));
        }

        @Override
        public void write(Collection<EpochEntry> epochs) { }

        @Override
        public void writeIfDirExists(Collection<EpochEntry> epochs) { }

        @Override
        public List<EpochEntry> read() {
            return List.of();
        }
    }
}
