package operator_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"example.com/ferry"
	"example.com/ferry/stream/operator"
)

// show runs a stream and prints its values.
func show[T any](in operator.Stream[T]) {
	err := operator.Run(context.Background(), nil, operator.Each(in, func(_ context.Context, v T, _ int64) error {
		fmt.Println(v)
		return nil
	}))
	if err != nil {
		fmt.Println(err)
	}
}

// seconds has values that are their times, in seconds.
func seconds(values ...int) operator.Stream[int] {
	at := func(v int) int64 { return int64(v) * int64(time.Second) }
	return operator.EventTime(operator.FromSlice(values), at, operator.Disorder{})
}

// The mean of the high values of each ten seconds.
func Example() {
	type Reading struct {
		Device string
		Value  float64
		Time   time.Time
	}
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	readings := []Reading{{"a", 20, noon}, {"a", 40, noon.Add(time.Second)}, {"b", 50, noon.Add(9 * time.Second)}, {"a", 60, noon.Add(11 * time.Second)}}

	timed := operator.EventTime(operator.FromSlice(readings), func(r Reading) int64 { return r.Time.UnixNano() }, operator.Disorder{})
	hot := operator.Filter(timed, func(r Reading) bool { return r.Value > 30 })
	means := operator.Window(hot, operator.Tumbling(10*time.Second), operator.Mean(func(r Reading) float64 { return r.Value }))
	err := operator.Run(context.Background(), nil, operator.Each(means, func(_ context.Context, w operator.Windowed[float64], _ int64) error {
		fmt.Printf("%s: %v of %d\n", time.Unix(0, w.Start).UTC().Format("15:04:05"), w.Value, w.Count)
		return nil
	}))
	fmt.Println(err)
	// Output:
	// 12:00:00: 45 of 2
	// 12:00:10: 60 of 1
	// <nil>
}

func ExampleMap() {
	show(operator.Map(operator.FromSlice([]int{1, 2, 3}), func(v int) string { return fmt.Sprint(v, " squared is ", v*v) }))
	// Output:
	// 1 squared is 1
	// 2 squared is 4
	// 3 squared is 9
}

func ExampleTryMap() {
	show(operator.TryMap(operator.FromSlice([]string{"1", "2", "x", "4"}), strconv.Atoi))
	// Output:
	// 1
	// 2
	// operator: operators: strconv.Atoi: parsing "x": invalid syntax
}

func ExampleFilter() {
	show(operator.Filter(operator.FromSlice([]int{1, 2, 3, 4}), func(v int) bool { return v%2 == 0 }))
	// Output:
	// 2
	// 4
}

func ExampleFlatMap() {
	show(operator.FlatMap(operator.FromSlice([]int{1, 0, 2}), func(n int, emit func(string)) {
		for i := range n {
			emit(fmt.Sprint(i+1, " of ", n))
		}
	}))
	// Output:
	// 1 of 1
	// 1 of 2
	// 2 of 2
}

func ExampleScan() {
	show(operator.Scan(operator.FromSlice([]int{1, 2, 3}), 0, func(sum, v int) int { return sum + v }))
	// Output:
	// 1
	// 3
	// 6
}

func ExampleReduce() {
	show(operator.Reduce(operator.FromSlice([]int{1, 2, 3}), 0, func(sum, v int) int { return sum + v }))
	// Output:
	// 6
}

func ExampleDistinct() {
	words := operator.FromSlice([]string{"pump", "fan", "pump", "fan"})
	show(operator.Distinct(words, func(word string) string { return word }, operator.Distinctness{}))
	// Output:
	// pump
	// fan
}

// With one key, Distinct passes on changes.
func ExampleDistinct_changes() {
	states := operator.FromSlice([]string{"on", "on", "off", "on"})
	show(operator.Distinct(states, func(state string) string { return state }, operator.Distinctness{Max: 1}))
	// Output:
	// on
	// off
	// on
}

func ExampleDebounce() {
	show(operator.Debounce(seconds(1, 2, 3, 10, 11), 3*time.Second))
	// Output:
	// 3
	// 11
}

func ExampleThrottle() {
	show(operator.Throttle(seconds(1, 2, 3, 4, 10, 11), 3*time.Second))
	// Output:
	// 1
	// 4
	// 10
}

func ExampleSample() {
	show(operator.Sample(seconds(1, 2, 3, 10, 11), 5*time.Second))
	// Output:
	// 3
	// 11
}

func ExampleTimeout() {
	show(operator.Timeout(operator.FromChan(make(chan int)), time.Millisecond))
	// Output:
	// operator: operators: operator: no value in time: none for 1ms
}

func ExampleRetry() {
	calls := 0
	send := func(_ context.Context, v int) (string, error) {
		if calls++; calls < 3 {
			return "", errors.New("not reachable")
		}
		return fmt.Sprint(v, " was sent by call ", calls), nil
	}
	show(operator.Retry(operator.FromSlice([]int{7}), operator.Attempts{Max: 5, Pause: time.Millisecond}, send))
	// Output:
	// 7 was sent by call 3
}

func ExampleBuffer() {
	show(operator.Buffer(seconds(1, 2, 3, 11, 12), operator.Tumbling(10*time.Second)))
	// Output:
	// [1 2 3]
	// [11 12]
}

func ExampleCounted() {
	show(operator.Buffer(operator.FromSlice([]int{1, 2, 3, 4, 5}), operator.Counted(2)))
	// Output:
	// [1 2]
	// [3 4]
	// [5]
}

func ExampleCountedOrTimed() {
	show(operator.Buffer(seconds(1, 2, 3, 4, 20), operator.CountedOrTimed(3, 10*time.Second)))
	// Output:
	// [1 2 3]
	// [4]
	// [20]
}

func ExampleWindow() {
	count := operator.Window(seconds(1, 2, 3, 11, 12), operator.Tumbling(10*time.Second), operator.Count[int]())
	show(operator.Map(count, func(w operator.Windowed[int]) string {
		return fmt.Sprint(w.Value, " from second ", w.Start/int64(time.Second))
	}))
	// Output:
	// 3 from second 0
	// 2 from second 10
}

// An aggregate of one's own.
func ExampleAggregate() {
	longest := operator.Aggregate[string, string, string]{
		New: func() string { return "" },
		Add: func(longest *string, v string) {
			if len(v) > len(*longest) {
				*longest = v
			}
		},
		Result: func(longest *string) string { return *longest },
	}
	words := operator.FromSlice([]string{"a", "message", "is", "bytes"})
	show(operator.Map(operator.Window(words, operator.Counted(10), longest), func(w operator.Windowed[string]) string { return w.Value }))
	// Output:
	// message
}

func ExampleSliding() {
	show(operator.Buffer(seconds(1, 6, 11), operator.Sliding(10*time.Second, 5*time.Second)))
	// Output:
	// [1]
	// [1 6]
	// [6 11]
	// [11]
}

func ExampleSession() {
	show(operator.Buffer(seconds(1, 2, 3, 10, 11), operator.Session(5*time.Second)))
	// Output:
	// [1 2 3]
	// [10 11]
}

// A late value makes its window emit again.
func ExampleWindows_Late() {
	show(operator.Buffer(seconds(1, 11, 2, 12), operator.Tumbling(10*time.Second).Late(5*time.Second)))
	// Output:
	// [1]
	// [1 2]
	// [11 12]
}

// Values that are out of order by at most two seconds.
func ExampleEventTime() {
	values := operator.FromSlice([]int{1, 11, 9, 13})
	timed := operator.EventTime(values, func(v int) int64 { return int64(v) * int64(time.Second) }, operator.Disorder{Bound: 2 * time.Second})
	show(operator.Buffer(timed, operator.Tumbling(10*time.Second)))
	// Output:
	// [1 9]
	// [11 13]
}

func ExampleGroupBy() {
	count := func(in operator.Stream[string]) operator.Stream[int] {
		return operator.Reduce(in, 0, func(n int, _ string) int { return n + 1 })
	}
	words := operator.FromSlice([]string{"pump", "fan", "pump"})
	counts := operator.GroupBy(words, func(word string) string { return word }, count, operator.Groups{})
	show(operator.Map(counts, func(v operator.Keyed[string, int]) string { return fmt.Sprint(v.Key, " ", v.Value) }))
	// Output:
	// pump 2
	// fan 1
}

func ExampleMerge() {
	show(operator.Merge(operator.FromSlice([]int{1, 2}), operator.FromSlice([]int{10})))
	// Unordered output:
	// 1
	// 2
	// 10
}

func ExampleZip() {
	names, values := operator.FromSlice([]string{"pressure", "flow"}), operator.FromSlice([]int{7, 9})
	show(operator.Zip(names, values, func(name string, value int) string { return fmt.Sprint(name, " ", value) }))
	// Output:
	// pressure 7
	// flow 9
}

// What was ordered, paid and sent within ten seconds.
func ExampleJoin() {
	type event struct {
		Kind  string
		Order int
		At    int64
	}
	all := operator.Share(operator.EventTime(
		operator.FromSlice([]event{{"order", 1, 1}, {"order", 2, 2}, {"payment", 1, 5}, {"payment", 2, 30}}),
		func(e event) int64 { return e.At * int64(time.Second) }, operator.Disorder{}))
	kind := func(kind string) operator.Stream[event] {
		return operator.Filter(all, func(e event) bool { return e.Kind == kind })
	}
	show(operator.Join([]operator.Stream[event]{kind("order"), kind("payment")}, func(e event) int { return e.Order }, operator.Joining{Within: 10 * time.Second}))
	// Output:
	// [{order 1 1} {payment 1 5}]
}

func ExampleShare() {
	numbers := operator.Share(operator.FromSlice([]int{1, 2}))
	tenfold := operator.Map(numbers, func(v int) int { return 10 * v })
	show(operator.Merge(numbers, tenfold))
	// Output:
	// 1
	// 10
	// 2
	// 20
}

func ExampleFromSlice() {
	show(operator.FromSlice([]int{1, 2}))
	// Output:
	// 1
	// 2
}

func ExampleFromSeq() {
	show(operator.FromSeq(slices.Values([]int{1, 2})))
	// Output:
	// 1
	// 2
}

func ExampleFromChan() {
	values := make(chan int, 2)
	values <- 1
	values <- 2
	close(values)
	show(operator.FromChan(values))
	// Output:
	// 1
	// 2
}

func ExampleInput() {
	in := operator.NewInput[int]()
	r, err := operator.Start(context.Background(), nil, operator.Each(in.Stream(), func(_ context.Context, v int, _ int64) error {
		fmt.Println("got", v)
		return nil
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(in.Push(1, 0))
	in.Close()
	fmt.Println(r.Err())
	// Output:
	// got 1
	// <nil>
	// <nil>
}

func ExampleEach() {
	sink := operator.Each(operator.FromSlice([]int{1, 2}), func(_ context.Context, v int, _ int64) error {
		fmt.Println(v)
		return nil
	})
	fmt.Println(operator.Run(context.Background(), nil, sink))
	// Output:
	// 1
	// 2
	// <nil>
}

// printer stands for a stream.Client.
type printer struct{}

func (printer) Send(_ context.Context, m ferry.Message) error {
	fmt.Printf("%s on %s\n", m.Payload, m.Tag)
	return nil
}

func ExamplePublish() {
	sink := operator.Publish(operator.FromSlice([]int{20, 40}), printer{}, func(v int) (ferry.Message, error) {
		return ferry.Message{Tag: "temperatures", Type: ferry.JSON, Payload: strconv.AppendInt(nil, int64(v), 10)}, nil
	})
	fmt.Println(operator.Run(context.Background(), nil, sink))
	// Output:
	// 20 on temperatures
	// 40 on temperatures
	// <nil>
}

func ExampleDoOnNext() {
	seen := operator.DoOnNext(operator.FromSeq(slices.Values([]string{"1", "x"})), func(v string) { fmt.Println("next", v) })
	numbers := operator.DoOnError(operator.TryMap(seen, strconv.Atoi), func(err error) { fmt.Println("error", err) })
	good := operator.OnErrorReturn(numbers, func(error) (int, bool) { return 0, false })
	show(operator.DoOnDone(good, func() { fmt.Println("done") }))
	// Output:
	// next 1
	// 1
	// next x
	// error strconv.Atoi: parsing "x": invalid syntax
	// done
}

func ExampleAuditTime() {
	show(operator.AuditTime(seconds(1, 2, 3, 10, 11), 3*time.Second))
	// Output:
	// 3
	// 11
}

// The newest value when the other stream has one.
func ExampleSampleBy() {
	all := operator.Share(operator.FromSlice([]int{1, 2, 0, 3, 0, 0, 4}))
	numbers := operator.Filter(all, func(v int) bool { return v > 0 })
	zeros := operator.Filter(all, func(v int) bool { return v == 0 })
	show(operator.SampleBy(numbers, zeros))
	// Output:
	// 2
	// 3
	// 4
}

func ExampleTimeInterval() {
	show(operator.Map(operator.TimeInterval(seconds(1, 2, 5)), func(v operator.Interval[int]) string { return fmt.Sprint(v.Value, " after ", v.Since) }))
	// Output:
	// 1 after 0s
	// 2 after 1s
	// 5 after 3s
}

func ExampleTimestamp() {
	show(operator.Map(operator.Timestamp(seconds(1, 2)), func(v operator.Timed[int]) string { return time.Unix(0, v.At).UTC().Format(time.TimeOnly) }))
	// Output:
	// 00:00:01
	// 00:00:02
}

func ExampleToMap() {
	words := operator.FromSlice([]string{"pump", "fan", "pipe"})
	show(operator.ToMap(words, func(word string) string { return word[:1] }, func(word string) string { return word }))
	// Output:
	// map[f:fan p:pipe]
}

func ExampleCountedSliding() {
	show(operator.Buffer(operator.FromSlice([]int{1, 2, 3, 4}), operator.CountedSliding(3, 1)))
	// Output:
	// [1 2 3]
	// [2 3 4]
	// [3 4]
	// [4]
}

func ExampleZipAll() {
	show(operator.ZipAll(operator.FromSlice([]int{1, 2}), operator.FromSlice([]int{10, 20}), operator.FromSlice([]int{100, 200})))
	// Output:
	// [1 10 100]
	// [2 20 200]
}

func ExampleToChan() {
	values := make(chan int)
	r, err := operator.Start(context.Background(), nil, operator.ToChan(operator.FromSlice([]int{1, 2}), values))
	if err != nil {
		fmt.Println(err)
		return
	}
	for v := range values {
		fmt.Println(v)
	}
	fmt.Println(r.Err())
	// Output:
	// 1
	// 2
	// <nil>
}
