import java.io.File;
import java.io.FileInputStream;
import java.util.Arrays;
import java.util.Properties;
import java.util.TreeMap;

/** Loads each file of a folder as Kafka does, and prints its entries as UTF-16 code units in hexadecimal. */
public class PropertiesDump {
    public static void main(String[] arguments) throws Exception {
        File[] files = new File(arguments[0]).listFiles();
        Arrays.sort(files);
        for (File file : files) {
            StringBuilder line = new StringBuilder(file.getName());
            Properties properties = new Properties();
            try (FileInputStream stream = new FileInputStream(file)) {
                properties.load(stream);
                for (var entry : new TreeMap<>(properties).entrySet()) {
                    line.append(' ').append(hex(entry.getKey())).append('=').append(hex(entry.getValue()));
                }
            } catch (IllegalArgumentException error) {
                line.append(" ERROR");
            }
            System.out.println(line);
        }
    }

    private static String hex(Object text) {
        StringBuilder units = new StringBuilder();
        for (char unit : ((String) text).toCharArray()) {
            units.append(String.format("%04x", (int) unit));
        }
        return units.toString();
    }
}
