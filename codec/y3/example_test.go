package y3_test

import (
	"fmt"

	"example.com/ferry/codec/y3"
)

func ExampleCodec() {
	type reading struct {
		Noise float32 `y3:"0x11"`
		Time  int64   `y3:"0x12"`
		From  string  `y3:"0x13"`
	}
	data, err := y3.Codec{}.Marshal(reading{Noise: 1.5, Time: 1600000000, From: "s"})
	fmt.Printf("% x %v\n", data, err)

	var r reading
	err = y3.Codec{}.Unmarshal(data, &r)
	fmt.Printf("%+v %v\n", r, err)
	// Output:
	// 81 10 90 0e 11 02 3f c0 12 05 85 fa f8 a0 00 13 01 73 <nil>
	// {Noise:1.5 Time:1600000000 From:s} <nil>
}
