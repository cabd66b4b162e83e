import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.DescribeClusterOptions;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionReplica;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;

/**
 * The Java AdminClient: "ADDRESS CALL ARGUMENT..." makes one call and prints its result, a thing a line. A call that
 * fails prints the exception of the client and its message.
 */
public class AdminCalls {
    private final Admin admin;

    private AdminCalls(Admin admin) {
        this.admin = admin;
    }

    public static void main(String[] words) throws Exception {
        Map<String, Object> settings =
            Map.of("bootstrap.servers", words[0], "default.api.timeout.ms", 20_000, "request.timeout.ms", 10_000);
        try (Admin admin = Admin.create(settings)) {
            new AdminCalls(admin).call(words[1], Arrays.copyOfRange(words, 2, words.length));
        } catch (ExecutionException error) {
            print("%s: %s", error.getCause().getClass().getSimpleName(), error.getCause().getMessage());
        }
    }

    private void call(String name, String[] words) throws Exception {
        switch (name) {
            case "createTopic" -> createTopic(words);
            case "describeTopics" -> describeTopics(TopicCollection.ofTopicNames(List.of(words)));
            case "describeTopicsById" -> describeTopics(TopicCollection.ofTopicIds(List.of(Uuid.fromString(words[0]))));
            case "deleteTopic" -> admin.deleteTopics(List.of(words)).all().get();
            case "deleteTopicById" ->
                admin.deleteTopics(TopicCollection.ofTopicIds(List.of(Uuid.fromString(words[0])))).all().get();
            case "createPartitions" -> admin.createPartitions(Map.of(words[0], partitions(words))).all().get();
            case "describeCluster" -> describeCluster();
            case "describeConfigs" -> describeConfigs(resource(words));
            case "incrementalAlterConfigs" -> incrementalAlterConfigs(words);
            case "listOffsets" -> listOffsets(words);
            case "deleteRecords" -> deleteRecords(words);
            case "describeLogDirs" -> describeLogDirs();
            case "alterReplicaLogDirs" -> alterReplicaLogDirs(words);
            case "describeReplicaLogDirs" -> describeReplicaLogDirs(words);
            case "describeProducers" -> describeProducers(words);
            case "electLeaders" -> electLeaders(words);
            case "alterPartitionReassignments" -> alterPartitionReassignments(words);
            case "listPartitionReassignments" -> print("%s", admin.listPartitionReassignments().reassignments().get());
            case "describeFeatures" -> describeFeatures();
            case "describeMetadataQuorum" -> print("%s", admin.describeMetadataQuorum().quorumInfo().get());
            default -> throw new IllegalArgumentException(name);
        }
    }

    private static void print(String format, Object... values) {
        System.out.println(String.format(format, values));
    }

    private static TopicPartition partition(String[] words) {
        return new TopicPartition(words[0], Integer.parseInt(words[1]));
    }

    private static ConfigResource resource(String[] words) {
        return new ConfigResource(ConfigResource.Type.valueOf(words[0]), words[1]);
    }

    // -- topics: NAME PARTITIONS [validate | name=value]...

    private void createTopic(String[] words) throws Exception {
        Map<String, String> configs = new TreeMap<>();
        for (String word : words) if (word.contains("=")) configs.put(word.split("=")[0], word.split("=")[1]);
        NewTopic topic = new NewTopic(words[0], Optional.of(Integer.valueOf(words[1])), Optional.empty()).configs(configs);
        CreateTopicsOptions options = new CreateTopicsOptions().validateOnly(List.of(words).contains("validate"));
        var result = admin.createTopics(List.of(topic), options);
        result.all().get();
        print("partitions=%d replication=%d", result.numPartitions(words[0]).get(), result.replicationFactor(words[0]).get());
        for (String name : configs.keySet()) print("%s", result.config(words[0]).get().get(name).value());
    }

    private void describeTopics(TopicCollection topics) throws Exception {
        var result = admin.describeTopics(topics);
        var described = topics instanceof TopicCollection.TopicNameCollection
            ? result.allTopicNames().get().values() : result.allTopicIds().get().values();
        for (var topic : described) {
            print("%s id=%s internal=%s", topic.name(), topic.topicId(), topic.isInternal());
            for (var one : topic.partitions())
                print("%d leader=%s replicas=%s isr=%s",
                    one.partition(), one.leader().id(), one.replicas().size(), one.isr().size());
        }
    }

    private static NewPartitions partitions(String[] words) {
        return NewPartitions.increaseTo(Integer.parseInt(words[1]));
    }

    private void describeCluster() throws Exception {
        var result = admin.describeCluster(new DescribeClusterOptions().includeAuthorizedOperations(true));
        print("cluster=%s controller=%s", result.clusterId().get(), result.controller().get().id());
        for (var node : result.nodes().get()) print("broker=%d %s:%d rack=%s", node.id(), node.host(), node.port(), node.rack());
        print("operations=%s", new TreeSet<>(result.authorizedOperations().get()));
    }

    // -- configuration: TYPE NAME [set|delete|append|subtract name value]...

    private void describeConfigs(ConfigResource resource) throws Exception {
        var options = new DescribeConfigsOptions().includeSynonyms(true).includeDocumentation(true);
        var entries = new ArrayList<>(admin.describeConfigs(List.of(resource), options).all().get().get(resource).entries());
        entries.sort((one, other) -> one.name().compareTo(other.name()));
        for (ConfigEntry entry : entries)
            print("%s=%s %s %s readOnly=%s sensitive=%s synonyms=%s documented=%s", entry.name(), entry.value(), entry.source(),
                entry.type(), entry.isReadOnly(), entry.isSensitive(), entry.synonyms().size(), entry.documentation() != null);
    }

    private void incrementalAlterConfigs(String[] words) throws Exception {
        List<AlterConfigOp> changes = new ArrayList<>();
        for (int i = 2; i + 2 < words.length; i += 3)
            changes.add(new AlterConfigOp(
                new ConfigEntry(words[i + 1], words[i + 2]), AlterConfigOp.OpType.valueOf(words[i].toUpperCase())));
        admin.incrementalAlterConfigs(Map.of(resource(words), changes)).all().get();
    }

    // -- records: TOPIC PARTITION ...

    private void listOffsets(String[] words) throws Exception {
        for (int i = 2; i < words.length; i++) {
            OffsetSpec spec = switch (words[i]) {
                case "earliest" -> OffsetSpec.earliest();
                case "latest" -> OffsetSpec.latest();
                case "max-timestamp" -> OffsetSpec.maxTimestamp();
                case "earliest-local" -> OffsetSpec.earliestLocal();
                case "latest-tiered" -> OffsetSpec.latestTiered();
                default -> OffsetSpec.forTimestamp(Long.parseLong(words[i]));
            };
            var found = admin.listOffsets(Map.of(partition(words), spec)).partitionResult(partition(words)).get();
            print("%s offset=%d timestamp=%d epoch=%s",
                words[i], found.offset(), found.timestamp(), found.leaderEpoch().orElse(-1));
        }
    }

    private void deleteRecords(String[] words) throws Exception {
        var before = RecordsToDelete.beforeOffset(Long.parseLong(words[2]));
        var result = admin.deleteRecords(Map.of(partition(words), before)).lowWatermarks().get(partition(words)).get();
        print("lowWatermark=%d", result.lowWatermark());
    }

    private void describeProducers(String[] words) throws Exception {
        var found = admin.describeProducers(List.of(partition(words))).partitionResult(partition(words)).get();
        for (var one : found.activeProducers())
            print("producer=%d epoch=%d sequence=%d transaction=%s", one.producerId(), one.producerEpoch(), one.lastSequence(),
                one.currentTransactionStartOffset());
    }

    // -- replicas

    private void describeLogDirs() throws Exception {
        for (var directory : new TreeMap<>(admin.describeLogDirs(List.of(0)).allDescriptions().get().get(0)).entrySet()) {
            print("%s error=%s space=%s", directory.getKey(), directory.getValue().error(),
                directory.getValue().totalBytes().orElse(0) >= directory.getValue().usableBytes().orElse(1));
            directory.getValue().replicaInfos().forEach((partition, replica) ->
                print("%s size=%d lag=%d future=%s", partition, replica.size(), replica.offsetLag(), replica.isFuture()));
        }
    }

    private void alterReplicaLogDirs(String[] words) throws Exception {
        var replica = new TopicPartitionReplica(words[0], Integer.parseInt(words[1]), 0);
        admin.alterReplicaLogDirs(Map.of(replica, words[2])).all().get();
    }

    private void describeReplicaLogDirs(String[] words) throws Exception {
        var replica = new TopicPartitionReplica(words[0], Integer.parseInt(words[1]), 0);
        var found = admin.describeReplicaLogDirs(List.of(replica)).all().get().get(replica);
        print("current=%s future=%s", found.getCurrentReplicaLogDir(), found.getFutureReplicaLogDir());
    }

    private void electLeaders(String[] words) throws Exception {
        var kind = ElectionType.valueOf(words[2]);
        var outcomes = admin.electLeaders(kind, Set.of(partition(words))).partitions().get();
        outcomes.forEach((partition, error) -> print("%s %s", partition, error.map(Object::toString).orElse("elected")));
    }

    private void alterPartitionReassignments(String[] words) throws Exception {
        List<Integer> replicas = new ArrayList<>();
        for (int i = 2; i < words.length; i++) replicas.add(Integer.valueOf(words[i]));
        Optional<NewPartitionReassignment> wanted =
            replicas.isEmpty() ? Optional.empty() : Optional.of(new NewPartitionReassignment(replicas));
        admin.alterPartitionReassignments(Map.of(partition(words), wanted)).all().get();
    }

    private void describeFeatures() throws Exception {
        var features = admin.describeFeatures().featureMetadata().get();
        print("finalized=%s supported=%s", features.finalizedFeatures(), features.supportedFeatures());
    }
}
