import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The Java client against a server: "produce ADDRESS TOPIC CODEC" sends the records of standard input,
 * "consume ADDRESS TOPIC COUNT" prints them; a record is "timestamp key value [name value]..." in hex, "-" being null.
 */
public class ClientRoundTrip {
    private static final HexFormat HEX = HexFormat.of();

    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("produce")) produce(arguments[1], arguments[2], arguments[3]);
        else consume(arguments[1], arguments[2], Integer.parseInt(arguments[3]));
    }

    private static void produce(String address, String topic, String codec) throws Exception {
        Map<String, Object> settings = Map.of("bootstrap.servers", address, "compression.type", codec,
            "enable.idempotence", false, "linger.ms", 50, "acks", "all", "enable.metrics.push", false);
        List<String> lines = new String(System.in.readAllBytes(), "UTF-8").lines().toList();
        try (var producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            List<java.util.concurrent.Future<?>> sent = new ArrayList<>();
            for (String line : lines) sent.add(producer.send(record(topic, line.split(" "))));
            for (var one : sent) one.get();
        }
    }

    private static ProducerRecord<byte[], byte[]> record(String topic, String[] parts) {
        List<Header> headers = new ArrayList<>();
        for (int i = 3; i < parts.length; i += 2)
            headers.add(new RecordHeader(new String(bytes(parts[i])), bytes(parts[i + 1])));
        return new ProducerRecord<>(topic, 0, Long.parseLong(parts[0]), bytes(parts[1]), bytes(parts[2]), headers);
    }

    private static void consume(String address, String topic, int count) {
        Map<String, Object> settings = Map.of("bootstrap.servers", address, "auto.offset.reset", "earliest",
            "enable.auto.commit", false, "enable.metrics.push", false);
        try (var consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            var partition = new TopicPartition(topic, 0);
            consumer.assign(List.of(partition));
            consumer.seek(partition, 0);
            StringBuilder out = new StringBuilder();
            while (count > 0)
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                    out.append(record.timestamp()).append(' ').append(hex(record.key())).append(' ').append(hex(record.value()));
                    for (Header header : record.headers())
                        out.append(' ').append(hex(header.key().getBytes())).append(' ').append(hex(header.value()));
                    out.append('\n');
                    count--;
                }
            System.out.print(out);
        }
    }

    private static byte[] bytes(String text) {
        return text.equals("-") ? null : HEX.parseHex(text.substring(1));
    }

    private static String hex(byte[] data) {
        return data == null ? "-" : "x" + HEX.formatHex(data);
    }
}
