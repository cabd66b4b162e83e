# Kafka's other scripts (book 2, §7.6; statements 46 to 48).

bin/kafka-topics.sh --bootstrap-server $BROKER --create --topic t1
#> Created topic t1.

for number in 1 2 3 4; do echo "message$number for t1"; done | bin/kafka-console-producer.sh --broker-list $BROKER --topic t1 --sync --request-required-acks all --producer-property enable.idempotence=false

# Four batches of 83 bytes each.
bin/kafka-run-class.sh kafka.tools.DumpLogSegments --files $DATA/t1-0/00000000000000000000.log
#~ Dumping .*/t1-0/00000000000000000000.log
#> Log starting offset: 0
#~ baseOffset: 0 lastOffset: 0 count: 1 baseSequence: -1 lastSequence: -1 producerId: -1 producerEpoch: -1 .* position: 0 CreateTime: \d+ size: 83 magic: 2 compresscodec: none crc: \d+ isvalid: true
#~ baseOffset: 1 .* position: 83 .*
#~ baseOffset: 2 .* position: 166 .*
#~ baseOffset: 3 .* position: 249 .*

bin/kafka-run-class.sh kafka.tools.DumpLogSegments --files $DATA/t1-0/00000000000000000000.log --deep-iteration | grep -c '| offset: '
#> 4

# Two messages in one batch, compressed, then two alone: three rows for four messages.
bin/kafka-topics.sh --bootstrap-server $BROKER --create --topic t2
#> Created topic t2.

printf 'one\ntwo\n' | bin/kafka-console-producer.sh --broker-list $BROKER --topic t2 --compression-codec lz4 --timeout 3000 --message-send-max-retries 10
echo three | bin/kafka-console-producer.sh --broker-list $BROKER --topic t2 --compression-codec lz4
echo four | bin/kafka-console-producer.sh --broker-list $BROKER --topic t2 --compression-codec lz4
bin/kafka-dump-log.sh --files $DATA/t2-0/00000000000000000000.log | grep -o 'baseOffset: [0-9]* lastOffset: [0-9]* .*compresscodec: lz4' | sed 's/ count.*//'
#> baseOffset: 0 lastOffset: 1
#> baseOffset: 2 lastOffset: 2
#> baseOffset: 3 lastOffset: 3

bin/kafka-dump-log.sh --files $DATA/t2-0/00000000000000000000.log --deep-iteration --print-data-log | grep -o 'payload: .*'
#> payload: one
#> payload: two
#> payload: three
#> payload: four

# How many records there are: what is behind the last, minus the first.
bin/kafka-topics.sh --bootstrap-server $BROKER --create --topic counted --partitions 5
#> Created topic counted.

bin/kafka-producer-perf-test.sh --topic counted --num-records 5000 --record-size 10 --throughput -1 --producer-props bootstrap.servers=$BROKER partitioner.class=org.apache.kafka.clients.producer.RoundRobinPartitioner
#~ 5000 records sent, .*

bin/kafka-run-class.sh kafka.tools.GetOffsetShell --broker-list $BROKER --topic counted --time -1
#> counted:0:1000
#> counted:1:1000
#> counted:2:1000
#> counted:3:1000
#> counted:4:1000

bin/kafka-run-class.sh kafka.tools.GetOffsetShell --broker-list $BROKER --topic counted --time -2 | cut -d: -f3 | sort -u
#> 0

# Who reads a partition by its number is in no group.
bin/kafka-console-consumer.sh --bootstrap-server $BROKER --topic t1 --partition 0 --offset earliest --max-messages 1
#> message1 for t1
#> Processed a total of 1 messages

bin/kafka-consumer-groups.sh --bootstrap-server $BROKER --list

# Settings of the producer and of the formatter.
bin/kafka-console-consumer.sh --bootstrap-server $BROKER --topic t1 --from-beginning --max-messages 1 --formatter kafka.tools.DefaultMessageFormatter --property print.key=true --property print.value=true --property key.separator=' = ' 2>/dev/null
#> null = message1 for t1

# What a group has committed, in the topic where it is kept: partition 12, by the hash of its name.
bin/kafka-console-consumer.sh --bootstrap-server $BROKER --topic t1 --group test-group --from-beginning --max-messages 4 > /dev/null 2>&1
bin/kafka-simple-consumer-shell.sh --topic __consumer_offsets --partition 12 --broker-list $BROKER --no-wait-at-logend --formatter 'kafka.coordinator.group.GroupMetadataManager$OffsetsMessageFormatter' 2>/dev/null | tail -1
#~ \[test-group,t1,0\]::.*4.*
