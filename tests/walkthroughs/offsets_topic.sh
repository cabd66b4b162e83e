# Where offsets are kept (corrections 1, §2.5): a hundred lines in five partitions, a group, and its rows.

bin/kafka-topics.sh --bootstrap-server $BROKER --create --topic tp_test_01 --partitions 5
#~ WARNING: Due to limitations in metric names.*
#> Created topic tp_test_01.

seq 1 100 > messages.txt
bin/kafka-console-producer.sh --broker-list $BROKER --topic tp_test_01 --producer-property partitioner.class=org.apache.kafka.clients.producer.RoundRobinPartitioner < messages.txt

bin/kafka-get-offsets.sh --bootstrap-server $BROKER --topic tp_test_01
#> tp_test_01:0:20
#> tp_test_01:1:20
#> tp_test_01:2:20
#> tp_test_01:3:20
#> tp_test_01:4:20

bin/kafka-console-consumer.sh --bootstrap-server $BROKER --topic tp_test_01 --group console-consumer-49366 --from-beginning --max-messages 100 2>/dev/null | sort -n | tail -1
#> 100

bin/kafka-consumer-groups.sh --bootstrap-server $BROKER --list
#> console-consumer-49366

bin/kafka-consumer-groups.sh --bootstrap-server $BROKER --describe --group console-consumer-49366 2>/dev/null | awk '$1 ~ /^console/ { print $2, $3, $4, $5, $6 }' | sort
#> tp_test_01 0 20 20 0
#> tp_test_01 1 20 20 0
#> tp_test_01 2 20 20 0
#> tp_test_01 3 20 20 0
#> tp_test_01 4 20 20 0

# Its partition of __consumer_offsets is 19, by the hash of its name.
bin/kafka-get-offsets.sh --bootstrap-server $BROKER --topic-partitions __consumer_offsets | grep -v ':0$' | cut -d: -f2
#> 19

echo exclude.internal.topics=false > internal.properties
bin/kafka-console-consumer.sh --bootstrap-server $BROKER --topic __consumer_offsets --partition 19 --offset earliest --timeout-ms 2000 --formatter 'kafka.coordinator.group.GroupMetadataManager$OffsetsMessageFormatter' --consumer.config internal.properties 2>/dev/null | grep -c '\[console-consumer-49366,tp_test_01,[0-4]\]::.*20'
#~ [1-9]\d*
