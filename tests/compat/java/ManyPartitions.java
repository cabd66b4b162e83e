import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.LongDeserializer;
import org.apache.kafka.common.serialization.LongSerializer;

/**
 * The Java consumer on many partitions, of which it takes and leaves some again and again, so that its incremental fetch
 * sessions (KIP-227) add, forget and change partitions: "ADDRESS PREFIX TOPICS PARTITIONS ROUNDS". One topic is deleted
 * and created again half-way. A record's value is its place in the partition: none may be missing, doubled or out of order.
 */
public class ManyPartitions {
    private static final Duration POLL = Duration.ofMillis(100);
    private static final long ROUND_MS_MAX = 20_000;
    private static final int CREATE_TRIES_MAX = 50;

    private final Random random = new Random(7);
    private final List<TopicPartition> partitions = new ArrayList<>();
    private final Map<TopicPartition, Long> written = new HashMap<>();
    private final Map<TopicPartition, Long> read = new HashMap<>();
    private final KafkaProducer<Long, Long> producer;
    private final KafkaConsumer<Long, Long> consumer;

    private ManyPartitions(String address) {
        producer = new KafkaProducer<>(
            Map.of("bootstrap.servers", address), new LongSerializer(), new LongSerializer());
        Map<String, Object> settings = Map.of("bootstrap.servers", address, "enable.auto.commit", false,
            "auto.offset.reset", "none", "fetch.max.wait.ms", 20, "fetch.max.bytes", 2000, "max.partition.fetch.bytes", 1000);
        consumer = new KafkaConsumer<>(settings, new LongDeserializer(), new LongDeserializer());
    }

    public static void main(String[] words) throws Exception {
        ManyPartitions many = new ManyPartitions(words[0]);
        int topics = Integer.parseInt(words[2]), count = Integer.parseInt(words[3]), rounds = Integer.parseInt(words[4]);
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", words[0])); many.producer; many.consumer) {
            for (int i = 0; i < topics; i++) many.create(admin, words[1] + i, count);
            for (int round = 0; round < rounds; round++) {
                if (round == rounds / 2) {
                    many.consumer.unsubscribe();
                    admin.deleteTopics(List.of(words[1] + 0)).all().get();
                    many.partitions.removeIf(partition -> partition.topic().equals(words[1] + 0));
                    many.create(admin, words[1] + 0, count);
                }
                many.write(200);
                many.readSome(round == rounds - 1 ? many.partitions.size() : 1 + many.random.nextInt(many.partitions.size()));
            }
            System.out.println(many.read.equals(many.written) ? "all is read" : many.read + " is not " + many.written);
        }
    }

    private void create(Admin admin, String topic, int count) throws Exception {
        for (int tries = 1; ; tries++) {
            try {
                admin.createTopics(List.of(new NewTopic(topic, count, (short) 1))).all().get();
                break;
            } catch (ExecutionException error) {  // its deletion may be known, and not done
                if (tries == CREATE_TRIES_MAX) throw error;
                Thread.sleep(100);
            }
        }
        for (int i = 0; i < count; i++) {
            TopicPartition partition = new TopicPartition(topic, i);
            partitions.add(partition);
            written.put(partition, 0L);
            read.put(partition, 0L);
        }
    }

    private void write(int count) throws Exception {
        List<java.util.concurrent.Future<?>> sent = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            TopicPartition to = partitions.get(random.nextInt(partitions.size()));
            long value = written.merge(to, 1L, Long::sum) - 1;
            sent.add(producer.send(new ProducerRecord<>(to.topic(), to.partition(), null, value)));
        }
        for (var one : sent) one.get();
    }

    private void readSome(int count) {
        Collections.shuffle(partitions, random);
        List<TopicPartition> some = partitions.subList(0, count);
        consumer.assign(some);
        for (TopicPartition partition : some) consumer.seek(partition, read.get(partition));
        consumer.pause(some.subList(0, count / 2));
        readUntilThere(some.subList(count / 2, count));
        consumer.resume(some.subList(0, count / 2));
        readUntilThere(some);
    }

    private void readUntilThere(List<TopicPartition> some) {
        long end = System.currentTimeMillis() + ROUND_MS_MAX;
        while (some.stream().anyMatch(partition -> !read.get(partition).equals(written.get(partition)))) {
            if (System.currentTimeMillis() > end) throw new IllegalStateException(read + " is not " + written);
            for (ConsumerRecord<Long, Long> record : consumer.poll(POLL)) {
                TopicPartition partition = new TopicPartition(record.topic(), record.partition());
                long expected = read.merge(partition, 1L, Long::sum) - 1;
                if (record.offset() != expected || record.value() != expected)
                    throw new IllegalStateException(record + " instead of " + expected);
            }
        }
    }
}
