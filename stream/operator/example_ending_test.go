package operator_test

import (
	"context"
	"errors"
	"strconv"
	"time"

	"example.com/ferry/stream/operator"
)

func ExampleTake() {
	numbers := operator.FromSlice([]int{1, 2, 3, 4, 5})
	show(operator.Buffer(operator.Take(numbers, 2), operator.Counted(5)))
	show(operator.Buffer(operator.TakeWhile(numbers, func(v int) bool { return v < 3 }), operator.Counted(5)))
	show(operator.Buffer(operator.TakeUntil(numbers, func(v int) bool { return v == 3 }), operator.Counted(5)))
	// Output:
	// [1 2]
	// [1 2]
	// [1 2 3]
}

func ExampleSkip() {
	numbers := operator.FromSlice([]int{1, 2, 3, 4, 5})
	show(operator.Buffer(operator.Skip(numbers, 3), operator.Counted(5)))
	show(operator.Buffer(operator.SkipWhile(numbers, func(v int) bool { return v < 3 }), operator.Counted(5)))
	// Output:
	// [4 5]
	// [3 4 5]
}

// One value of a stream, or another one if there is none.
func ExampleFirstValue() {
	numbers := operator.FromSlice([]int{1, 2, 3, 4, 5})
	show(operator.FirstValue(numbers))
	show(operator.LastValue(numbers))
	show(operator.ElementAt(numbers, 2))
	show(operator.Find(numbers, func(v int) bool { return v > 1 }))
	show(operator.DefaultIfEmpty(operator.ElementAt(numbers, 7), -1))
	// Output:
	// 1
	// 5
	// 3
	// 2
	// -1
}

func ExampleTakeLast() {
	numbers := operator.FromSlice([]int{1, 2, 3, 4, 5})
	show(operator.Buffer(operator.TakeLast(numbers, 2), operator.Counted(5)))
	show(operator.Buffer(operator.SkipLast(numbers, 2), operator.Counted(5)))
	// Output:
	// [4 5]
	// [1 2 3]
}

// What comes before an alarm, and behind it.
func ExampleTakeUntilBy() {
	readings := operator.Share(operator.FromSlice([]int{20, 25, 99, 30}))
	alarm := operator.Filter(readings, func(v int) bool { return v > 90 })
	before, behind := operator.TakeUntilBy(readings, alarm), operator.SkipUntilBy(readings, alarm)
	show(operator.Merge(operator.Buffer(before, operator.Counted(5)), operator.Buffer(behind, operator.Counted(5))))
	// Output:
	// [20 25 99]
	// [30]
}

func ExampleContains() {
	numbers := operator.FromSlice([]int{1, 2, 3})
	show(operator.Contains(numbers, func(v int) bool { return v == 2 }))
	show(operator.All(numbers, func(v int) bool { return v < 3 }))
	// Output:
	// true
	// false
}

func ExampleSequenceEqual() {
	equal := func(a, b int) bool { return a == b }
	show(operator.SequenceEqual(operator.FromSlice([]int{1, 2}), operator.FromSlice([]int{1, 2}), equal))
	show(operator.SequenceEqual(operator.FromSlice([]int{1, 2}), operator.FromSlice([]int{1, 2, 3}), equal))
	// Output:
	// true
	// false
}

func ExampleDefaultIfEmpty() {
	show(operator.DefaultIfEmpty(operator.IgnoreElements(operator.FromSlice([]int{1, 2})), 0))
	// Output:
	// 0
}

func ExampleDefaultAfter() {
	silent := operator.FromChan(make(chan string))
	show(operator.Take(operator.DefaultAfter(silent, time.Millisecond, "nothing came"), 2))
	// Output:
	// nothing came
	// nothing came
}

func ExampleStartWith() {
	show(operator.StartWith(operator.FromSlice([]int{1, 2}), 0))
	// Output:
	// 0
	// 1
	// 2
}

func ExampleConcat() {
	show(operator.Concat(operator.FromSlice([]int{1, 2}), operator.FromSlice([]int{3})))
	// Output:
	// 1
	// 2
	// 3
}

func ExampleRepeat() {
	show(operator.Repeat(operator.FromSlice([]int{1, 2}), 2, 0))
	// Output:
	// 1
	// 2
	// 1
	// 2
}

func ExampleOnErrorReturn() {
	numbers := operator.TryMap(operator.FromSlice([]string{"1", "x", "3"}), strconv.Atoi)
	show(operator.OnErrorReturn(numbers, func(error) (int, bool) { return -1, true }))
	// Output:
	// 1
	// -1
	// 3
}

func ExampleOnErrorResume() {
	numbers := operator.TryMap(operator.FromSlice([]string{"1", "x", "3"}), strconv.Atoi)
	show(operator.OnErrorResume(numbers, operator.FromSlice([]int{10, 20})))
	// Output:
	// 1
	// 10
	// 20
}

// The values that fail go elsewhere.
func ExampleErrors() {
	numbers := operator.Share(operator.TryMap(operator.FromSlice([]string{"1", "x", "3"}), strconv.Atoi))
	good := operator.OnErrorReturn(numbers, func(error) (int, bool) { return 0, false })
	bad := operator.Map(operator.Errors(numbers), func(err error) string { return err.Error() })
	show(operator.Merge(operator.Map(good, strconv.Itoa), bad))
	// Output:
	// 1
	// strconv.Atoi: parsing "x": invalid syntax
	// 3
}

func ExampleFromFunc() {
	countdown := operator.FromFunc(func(_ context.Context, emit func(int) error) error {
		for i := 3; i > 0; i-- {
			if err := emit(i); err != nil {
				return err
			}
		}
		return errors.New("lift-off")
	})
	show(countdown)
	// Output:
	// 3
	// 2
	// 1
	// operator: operators: lift-off
}

func ExampleRetrySource() {
	calls := 0
	source := operator.FromFunc(func(_ context.Context, emit func(int) error) error {
		if calls++; calls < 3 {
			return errors.New("not reachable")
		}
		return emit(calls)
	})
	show(operator.RetrySource(source, operator.Attempts{Max: 5, Pause: time.Millisecond}))
	// Output:
	// 3
}
