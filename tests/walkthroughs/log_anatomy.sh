# What is in a log (corrections 1, §2.4): small and equal records, their batches and index, computed beforehand.

bin/kafka-topics.sh --bootstrap-server $BROKER --create --topic tp_demo_05 --config segment.bytes=104857600
#~ WARNING: Due to limitations in metric names.*
#> Created topic tp_demo_05.

# 100,000 lines of twelve bytes, in batches of 16384: 819 records fill one.
yes 'hello world ' | head -100000 > messages.txt
bin/kafka-console-producer.sh --broker-list $BROKER --topic tp_demo_05 --producer-property enable.idempotence=false --producer-property batch.size=16384 --timeout 60000 < messages.txt

ls $DATA/tp_demo_05-0 | grep ^0
#> 00000000000000000000.index
#> 00000000000000000000.log
#> 00000000000000000000.timeindex

bin/kafka-run-class.sh kafka.tools.DumpLogSegments --files $DATA/tp_demo_05-0/00000000000000000000.log > dump.txt
head -3 dump.txt
#~ Dumping .*/tp_demo_05-0/00000000000000000000.log
#> Log starting offset: 0
#~ baseOffset: 0 .* baseSequence: -1 lastSequence: -1 producerId: -1 .* position: 0 .* magic: 2 .*

# A full batch has 819 records in 16377 bytes. A few have less: times far apart take more room.
grep -o 'count: [0-9]*\|size: [0-9]*' dump.txt | paste -d' ' - - | sort | uniq -c | sort -rn | head -1 | sed 's/^ *[0-9]* //'
#> count: 819 size: 16377

tail -1 dump.txt | grep -o 'lastOffset: 99999 '
#> lastOffset: 99999

# A row of the index for each batch but the first, since each is larger than 4096 bytes: its last offset, its position.
bin/kafka-run-class.sh kafka.tools.DumpLogSegments --files $DATA/tp_demo_05-0/00000000000000000000.index > index.txt
head -1 index.txt
#~ Dumping .*/tp_demo_05-0/00000000000000000000.index

sed -n 's/.*lastOffset: \([0-9]*\) .* position: \([0-9]*\) .*/offset: \1 position: \2/p' dump.txt | tail -n +2 > rows.txt
grep '^offset' index.txt > found.txt
comm -13 <(sort rows.txt) <(sort found.txt)

wc -l < rows.txt | tr -d ' '
#~ 12\d

wc -l < found.txt | tr -d ' '
#~ 12\d

bin/kafka-get-offsets.sh --bootstrap-server $BROKER --topic tp_demo_05
#> tp_demo_05:0:100000
