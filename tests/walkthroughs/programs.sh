# Producers and consumers as the book has them (book 1, §4 and §5; statement 22), seen with Kafka's scripts.

# A partitioner of one's own: the audit record has the last partition to itself.
python -m examples.custom_partitioner $BROKER > logs/partitioner.out
bin/kafka-run-class.sh kafka.tools.GetOffsetShell --broker-list $BROKER --topic test-topic | grep :2:
#> test-topic:2:1

bin/kafka-run-class.sh kafka.tools.GetOffsetShell --broker-list $BROKER --topic test-topic | awk -F: '{ sum += $3 } END { print sum }'
#> 5

# A value that is an object: JSON in the topic.
bin/kafka-topics.sh --bootstrap-server $BROKER --create --topic users
#> Created topic users.

echo '{"firstName":"XI","lastName":"HU","age":33,"address":"Beijing, China"}' | bin/kafka-console-producer.sh --bootstrap-server $BROKER --topic users --property parse.key=false
bin/kafka-console-consumer.sh --bootstrap-server $BROKER --topic users --from-beginning --max-messages 1
#> {"firstName":"XI","lastName":"HU","age":33,"address":"Beijing, China"}
#> Processed a total of 1 messages

# Interceptors: a time in front of each value, and a count at the end.
python -m examples.producer_interceptors $BROKER
#> Successful sent: 10
#> Failed sent: 0

bin/kafka-console-consumer.sh --bootstrap-server $BROKER --topic test-topic-intercepted --from-beginning --max-messages 10 2>/dev/null | grep -c '^[0-9]*,message[0-9]$'
#> 10

# Keys decide the partition; a group remembers where it is.
bin/kafka-topics.sh --bootstrap-server $BROKER --create --topic keyed --partitions 4
#> Created topic keyed.

for number in 1 2 3 4 5; do echo "same:$number"; done | bin/kafka-console-producer.sh --bootstrap-server $BROKER --topic keyed --property parse.key=true --property key.separator=:

bin/kafka-get-offsets.sh --bootstrap-server $BROKER --topic keyed | grep -c ':0$'
#> 3

bin/kafka-console-consumer.sh --bootstrap-server $BROKER --topic keyed --group test-group --from-beginning --max-messages 3 2>/dev/null
#> 1
#> 2
#> 3

bin/kafka-console-consumer.sh --bootstrap-server $BROKER --topic keyed --group test-group --max-messages 2 2>/dev/null
#> 4
#> 5

# Offsets are kept in a compacted topic of fifty partitions.
bin/kafka-topics.sh --bootstrap-server $BROKER --describe --topic __consumer_offsets | head -1 | grep -o 'PartitionCount: 50\|cleanup.policy=compact' | sort
#> PartitionCount: 50
#> cleanup.policy=compact
