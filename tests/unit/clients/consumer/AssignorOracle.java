import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.*;
import org.apache.kafka.common.*;

/**
 * Kafka's own assignors over standard input. A case is lines of words, "-" standing for nothing:
 *   case ASSIGNOR
 *   topic NAME RACKS;RACKS          racks of each partition, separated by commas
 *   member ID INSTANCE RACK GENERATION TOPICS USER_DATA OWNED     owned: topic:partition,...
 *   end                             answered by a line for each member: ID topic:partition ..., and by "end"
 */
public class AssignorOracle {
    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        ConsumerPartitionAssignor assignor = null;
        List<PartitionInfo> partitions = new ArrayList<>();
        Map<String, Node> nodes = new TreeMap<>();
        Map<String, Subscription> members = new HashMap<>();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "case":
                    assignor = assignor(words[1]);
                    partitions.clear();
                    nodes.clear();
                    members = new HashMap<>();
                    break;
                case "topic":
                    addTopic(words[1], words[2], nodes, partitions);
                    break;
                case "member":
                    members.put(words[1], subscription(words));
                    break;
                default:
                    Cluster cluster = new Cluster("c", nodes.values(), partitions, Set.of(), Set.of());
                    print(assignor.assign(cluster, new GroupSubscription(members)).groupAssignment());
            }
        }
    }

    private static ConsumerPartitionAssignor assignor(String name) {
        switch (name) {
            case "range": return new RangeAssignor();
            case "roundrobin": return new RoundRobinAssignor();
            case "sticky": return new StickyAssignor();
            default: return new CooperativeStickyAssignor();
        }
    }

    private static void addTopic(String topic, String text, Map<String, Node> nodes, List<PartitionInfo> partitions) {
        int number = 0;
        for (String racks : text.split(";")) {
            List<Node> replicas = new ArrayList<>();
            for (String rack : racks.split(","))
                replicas.add(nodes.computeIfAbsent(rack, r -> new Node(nodes.size(), "h", 1, r.equals("-") ? null : r)));
            Node[] array = replicas.toArray(new Node[0]);
            partitions.add(new PartitionInfo(topic, number++, array[0], array, array));
        }
    }

    private static Subscription subscription(String[] words) {
        List<String> topics = words[5].equals("-") ? List.of() : List.of(words[5].split(","));
        ByteBuffer userData = words[6].equals("-") ? null : ByteBuffer.wrap(HexFormat.of().parseHex(words[6]));
        List<TopicPartition> owned = new ArrayList<>();
        if (!words[7].equals("-"))
            for (String each : words[7].split(","))
                owned.add(new TopicPartition(each.split(":")[0], Integer.parseInt(each.split(":")[1])));
        Optional<String> rack = words[3].equals("-") ? Optional.empty() : Optional.of(words[3]);
        Subscription made = new Subscription(topics, userData, owned, Integer.parseInt(words[4]), rack);
        if (!words[2].equals("-"))
            made.setGroupInstanceId(Optional.of(words[2]));
        return made;
    }

    private static void print(Map<String, Assignment> assignment) {
        for (Map.Entry<String, Assignment> entry : new TreeMap<>(assignment).entrySet()) {
            StringBuilder line = new StringBuilder(entry.getKey());
            for (TopicPartition each : entry.getValue().partitions())
                line.append(' ').append(each.topic()).append(':').append(each.partition());
            System.out.println(line);
        }
        System.out.println("end");
    }
}
