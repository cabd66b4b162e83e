import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.ControlRecordType;
import org.apache.kafka.common.record.EndTransactionMarker;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MemoryRecordsBuilder;
import org.apache.kafka.common.record.MutableRecordBatch;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.utils.Time;

/**
 * The Java client's record formats on standard input and output: a command a line, an answer a line.
 *
 *   build MAGIC CODEC LOG_APPEND_TIME BASE_OFFSET LEADER_EPOCH PRODUCER_ID EPOCH SEQUENCE TRANSACTIONAL RECORD…  → hex
 *   marker COMMIT COORDINATOR_EPOCH TIMESTAMP BASE_OFFSET LEADER_EPOCH PRODUCER_ID EPOCH                         → hex
 *   down MAGIC FIRST_OFFSET HEX                                                                             → hex
 *   read HEX                                                                                                → BATCH RECORD… BATCH …
 *
 * A record is offset:timestamp:key:value and :key:value for each header; bytes are x and hex digits, or n for null. A
 * batch is batch:magic:base offset:last offset:codec:timestamp type:leader epoch:producer:epoch:sequence:flags:horizon.
 * LOG_APPEND_TIME is -1 for create time. What fails is answered with the exception's name.
 */
public class RecordsOracle {
    private static final HexFormat HEX = HexFormat.of();

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            String answer;
            try {
                answer = switch (words[0]) {
                    case "build" -> hex(build(words));
                    case "marker" -> hex(marker(words));
                    case "down" -> hex(down(words));
                    case "read" -> read(words[1]);
                    default -> throw new IllegalArgumentException(words[0]);
                };
            } catch (RuntimeException exception) {
                answer = exception.getClass().getSimpleName();
            }
            System.out.println(answer);
        }
    }

    private static MemoryRecords build(String[] words) {
        byte magic = Byte.parseByte(words[1]);
        long logAppendTime = Long.parseLong(words[3]);
        TimestampType type = logAppendTime >= 0 ? TimestampType.LOG_APPEND_TIME : TimestampType.CREATE_TIME;
        MemoryRecordsBuilder builder = MemoryRecords.builder(
            ByteBuffer.allocate(1024), magic, Compression.of(CompressionType.forName(words[2])).build(),
            magic == 0 ? TimestampType.NO_TIMESTAMP_TYPE : type, Long.parseLong(words[4]), logAppendTime,
            Long.parseLong(words[6]), Short.parseShort(words[7]), Integer.parseInt(words[8]),
            Boolean.parseBoolean(words[9]), Integer.parseInt(words[5]));
        for (int i = 10; i < words.length; i++) {
            String[] fields = words[i].split(":");
            List<Header> headers = new ArrayList<>();
            for (int h = 4; h < fields.length; h += 2) {
                headers.add(new RecordHeader(new String(bytes(fields[h]), StandardCharsets.UTF_8), bytes(fields[h + 1])));
            }
            builder.appendWithOffset(Long.parseLong(fields[0]), Long.parseLong(fields[1]), bytes(fields[2]),
                bytes(fields[3]), headers.toArray(new Header[0]));
        }
        return builder.build();
    }

    private static MemoryRecords marker(String[] words) {
        ControlRecordType type = Boolean.parseBoolean(words[1]) ? ControlRecordType.COMMIT : ControlRecordType.ABORT;
        return MemoryRecords.withEndTransactionMarker(
            Long.parseLong(words[4]), Long.parseLong(words[3]), Integer.parseInt(words[5]), Long.parseLong(words[6]),
            Short.parseShort(words[7]), new EndTransactionMarker(type, Integer.parseInt(words[2])));
    }

    private static MemoryRecords down(String[] words) {
        MemoryRecords records = MemoryRecords.readableRecords(ByteBuffer.wrap(HEX.parseHex(words[3])));
        return (MemoryRecords) records.downConvert(Byte.parseByte(words[1]), Long.parseLong(words[2]), Time.SYSTEM).records();
    }

    private static String read(String data) {
        StringBuilder answer = new StringBuilder();
        for (MutableRecordBatch batch : MemoryRecords.readableRecords(ByteBuffer.wrap(HEX.parseHex(data))).batches()) {
            batch.ensureValid();
            answer.append("batch:").append(batch.magic()).append(':').append(batch.baseOffset()).append(':')
                .append(batch.lastOffset()).append(':').append(batch.compressionType().name).append(':')
                .append(batch.timestampType().id).append(':').append(batch.partitionLeaderEpoch()).append(':')
                .append(batch.producerId()).append(':').append(batch.producerEpoch()).append(':')
                .append(batch.baseSequence()).append(':').append(batch.isTransactional() ? "t" : "")
                .append(batch.isControlBatch() ? "c" : "").append(':').append(batch.deleteHorizonMs().orElse(-1))
                .append(' ');
            for (Record record : batch) {
                record.ensureValid();
                answer.append(record.offset()).append(':').append(record.timestamp()).append(':')
                    .append(text(record.key())).append(':').append(text(record.value()));
                for (Header header : record.headers()) {
                    answer.append(':').append(text(ByteBuffer.wrap(header.key().getBytes(StandardCharsets.UTF_8))))
                        .append(':').append(text(header.value() == null ? null : ByteBuffer.wrap(header.value())));
                }
                answer.append(' ');
            }
        }
        return answer.toString();
    }

    private static String hex(MemoryRecords records) {
        return text(records.buffer());
    }

    private static byte[] bytes(String text) {
        return text.equals("n") ? null : HEX.parseHex(text.substring(1));
    }

    private static String text(ByteBuffer buffer) {
        if (buffer == null) {
            return "n";
        }
        byte[] copy = new byte[buffer.remaining()];
        buffer.duplicate().get(copy);
        return "x" + HEX.formatHex(copy);
    }
}
