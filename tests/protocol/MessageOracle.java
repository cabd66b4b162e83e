import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

/** Encodes messages with Kafka's own classes: lines of "name version json" in, lines of hex or "- reason" out. */
public class MessageOracle {
    private static final String[] PACKAGES = {
        "org.apache.kafka.common.message.",
        "org.apache.kafka.coordinator.group.generated.",
        "org.apache.kafka.coordinator.transaction.generated.",
        "org.apache.kafka.coordinator.share.generated.",
    };

    public static void main(String[] arguments) throws Exception {
        ObjectMapper json = new ObjectMapper();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        StringBuilder out = new StringBuilder();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] parts = line.split(" ", 3);
            out.append(encode(parts[0], Short.parseShort(parts[1]), json.readTree(parts[2]))).append('\n');
        }
        System.out.print(out);
    }

    private static String encode(String name, short version, JsonNode node) {
        try {
            Class<?> converter = find(name);
            if (converter == null) return "- no class";
            String made = converter.getName().replace("JsonConverter", "");
            Message empty = (Message) Class.forName(made).getDeclaredConstructor().newInstance();
            if (version < empty.lowestSupportedVersion() || version > empty.highestSupportedVersion()) return "- no version";
            Message message = (Message) converter.getMethod("read", JsonNode.class, short.class).invoke(null, node, version);
            ObjectSerializationCache cache = new ObjectSerializationCache();
            ByteBuffer buffer = ByteBuffer.allocate(message.size(cache, version));
            message.write(new ByteBufferAccessor(buffer), cache, version);
            return "+" + HexFormat.of().formatHex(buffer.array(), 0, buffer.position());
        } catch (java.lang.reflect.InvocationTargetException e) {
            return "! " + e.getCause();
        } catch (Exception e) {
            return "! " + e;
        }
    }

    private static Class<?> find(String name) {
        for (String prefix : PACKAGES) {
            try {
                return Class.forName(prefix + name + "JsonConverter");
            } catch (ClassNotFoundException e) {
                continue;
            }
        }
        return null;
    }
}
