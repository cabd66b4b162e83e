import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * A Java client of any version from 0.10.1 to 3.x: "ADDRESS PREFIX COUNT CODEC..." writes and reads COUNT records in a topic
 * PREFIX-CODEC for each codec, and prints for each the codec and how many came back as they were, at the offsets told.
 */
public class OldClient {
    private static final long READ_MS_MAX = 20_000;

    public static void main(String[] words) throws Exception {
        for (int i = 3; i < words.length; i++) {
            String topic = words[1] + "-" + words[i];
            List<Long> offsets = write(words[0], topic, words[i], Integer.parseInt(words[2]));
            System.out.println(words[i] + " " + read(words[0], topic, offsets));
        }
    }

    private static List<Long> write(String address, String topic, String codec, int count) throws Exception {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", address);
        settings.put("compression.type", codec);
        settings.put("linger.ms", 20);
        settings.put("acks", "all");
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        List<Long> offsets = new ArrayList<>();
        try (KafkaProducer<byte[], byte[]> producer =
                 new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (int i = 0; i < count; i++) sent.add(producer.send(new ProducerRecord<>(topic, 0, time(i), key(i), value(i))));
            for (Future<RecordMetadata> one : sent) offsets.add(one.get().offset());
        }
        return offsets;
    }

    private static int read(String address, String topic, List<Long> offsets) {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", address);
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", false);
        long end = System.currentTimeMillis() + READ_MS_MAX;
        int read = 0;
        try (KafkaConsumer<byte[], byte[]> consumer =
                 new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(Collections.singletonList(new TopicPartition(topic, 0)));
            consumer.seekToBeginning(Collections.singletonList(new TopicPartition(topic, 0)));
            while (read < offsets.size() && System.currentTimeMillis() < end)
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(200)) {
                    boolean same = record.offset() == offsets.get(read) && record.timestamp() == time(read)
                        && Arrays.equals(record.key(), key(read)) && Arrays.equals(record.value(), value(read));
                    if (!same) return -read;
                    read++;
                }
        }
        return read;
    }

    private static long time(int i) {
        return 1_700_000_000_000L + i;
    }

    private static byte[] key(int i) {
        return i % 3 == 0 ? null : ("key-" + i).getBytes();
    }

    private static byte[] value(int i) {
        return i % 5 == 0 ? null : ("the same words again and again " + i).getBytes();
    }
}
