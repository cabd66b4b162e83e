# Groups and where they go on (book 2, §7.4; statements 38 to 41); a hundredth of the book's records.

bin/kafka-topics.sh --bootstrap-server $BROKER --create --topic test --partitions 5
#> Created topic test.

bin/kafka-producer-perf-test.sh --topic test --num-records 50000 --record-size 10 --throughput -1 --producer-props bootstrap.servers=$BROKER acks=-1 partitioner.class=org.apache.kafka.clients.producer.RoundRobinPartitioner
#~ 50000 records sent, .*

bin/kafka-console-consumer.sh --bootstrap-server $BROKER --topic test --consumer-property group.id=test-group1 --from-beginning > logs/first 2>&1 &
echo $! > logs/first.pid
wait_for grep -c . logs/first
wait_for sh -c "bin/kafka-consumer-groups.sh --bootstrap-server $BROKER --list | grep test-group1"

# While it reads it is not reset, and its members are shown.
bin/kafka-consumer-groups.sh --bootstrap-server $BROKER --reset-offsets --group test-group1 --all-topics --to-earliest --execute
#~ Error: Assignments can only be reset if the group 'test-group1' is inactive, but the current state is Stable\.
#! 1

bin/kafka-consumer-groups.sh --bootstrap-server $BROKER --describe --group test-group1 | sed 's/  */ /g'
#*
#> GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID
#~ test-group1 test 0 \S+ 10000 \S+ console-consumer-\S+ /127.0.0.1 console-consumer
#*

kill $(cat logs/first.pid)
wait_for sh -c '! kill -0 $(cat logs/first.pid)'
wait_for sh -c "bin/kafka-consumer-groups.sh --bootstrap-server $BROKER --describe --group test-group1 2>&1 | grep 'has no active members'"

# Every way to say where to go on. Without --execute nothing changes.
reset() { bin/kafka-consumer-groups.sh --bootstrap-server $BROKER --reset-offsets --group test-group1 --topic test:0 "$@" 2>/dev/null | awk '$1 == "test-group1" { print $4 }'; }
reset --to-earliest --execute
#> 0

reset --to-latest --execute
#> 10000

reset --to-offset 5000 --execute
#> 5000

reset --to-current
#> 5000

reset --shift-by -1000 --execute
#> 4000

reset --to-datetime 2017-08-04T14:30:00.000
#> 0

reset --by-duration PT0H30M0S
#> 0

reset --to-latest
#> 10000

reset --to-current
#> 4000

# A plan as a file, and back.
bin/kafka-consumer-groups.sh --bootstrap-server $BROKER --reset-offsets --group test-group1 --topic test --to-offset 7 --export 2>/dev/null > plan.csv
head -2 plan.csv
#~ "?test"?,0,7
#~ "?test"?,1,7

bin/kafka-consumer-groups.sh --bootstrap-server $BROKER --reset-offsets --group test-group1 --from-file plan.csv --execute | awk '$1 == "test-group1" { print $3, $4 }'
#> 0 7
#> 1 7
#> 2 7
#> 3 7
#> 4 7

# Nobody is there: three columns are empty, and LAG is what is left to read.
bin/kafka-consumer-groups.sh --bootstrap-server $BROKER --describe --group test-group1 2>/dev/null | awk '$1 == "test-group1" { print $3, $4, $5, $6, $7, $8, $9 }' | sort
#> 0 7 10000 9993 - - -
#> 1 7 10000 9993 - - -
#> 2 7 10000 9993 - - -
#> 3 7 10000 9993 - - -
#> 4 7 10000 9993 - - -

bin/kafka-consumer-groups.sh --bootstrap-server $BROKER --delete --group test-group1
#> Deletion of requested consumer groups ('test-group1') was successful.
