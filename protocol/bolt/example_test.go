package bolt_test

import (
	"fmt"
	"time"

	"example.com/ferry/protocol/bolt"
)

func Example() {
	buf, err := bolt.Append(nil, bolt.Message{
		Dialect: bolt.V1, Type: bolt.Request, Command: bolt.CommandRequest, ID: 1, Codec: bolt.Hessian2, Timeout: 3 * time.Second,
		Class:   "java.lang.String",
		Header:  bolt.AppendPair(nil, bolt.Service, "com.example.Echo:1.0"),
		Content: []byte("hello"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	f, need, err := bolt.Next(buf, bolt.Limits{})
	if err != nil || need > 0 || len(buf) < f.FrameLen() {
		fmt.Println("malformed or not yet complete:", err)
		return
	}
	service, ok, err := f.Header().Lookup(bolt.Service)
	fmt.Printf("%v %d to %s, %v, %v\n", f.Type(), f.ID(), service, ok, err)
	f.SetID(4711) // the id on the upstream connection
	fmt.Println(f.ID(), len(buf))
	// Output:
	// request 1 to com.example.Echo:1.0, true, <nil>
	// 4711 78
}

// A frame larger than the buffer is forwarded in pieces as they arrive. The frame gets another id, and PatchCRC corrects the
// CRC in the last piece.
func ExampleFrame_SetID() {
	frame, err := bolt.Append(nil, bolt.Message{
		Dialect: bolt.V2CRC, Type: bolt.Request, Command: bolt.CommandRequest, ID: 1, Switch: bolt.SwitchCRC,
		Content: make([]byte, 1<<20),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	var sent []byte
	buf := frame[:4096] // bytes from the first read
	f, _, err := bolt.Next(buf, bolt.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	delta := f.SetID(4711)
	sent = append(sent, buf...)
	for left := f.FrameLen() - len(buf); left > 0; left -= len(buf) {
		buf = frame[len(sent):min(len(sent)+4096, len(frame))] // bytes from the next read
		bolt.PatchCRC(buf, left, delta)
		sent = append(sent, buf...)
	}
	got, _, err := bolt.Next(sent, bolt.Limits{})
	fmt.Println(got.ID(), got.CheckCRC(), err)
	// Output: 4711 <nil> <nil>
}

// All frames of a connection have the dialect of the first frame.
func ExampleLimits() {
	first, err := bolt.AppendHeartbeat(nil, bolt.V1, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	limits := bolt.Limits{MaxFrame: 1 << 20}
	f, _, err := bolt.Next(first, limits)
	if err != nil {
		fmt.Println(err)
		return
	}
	limits.Dialect = f.Dialect()
	_, _, err = bolt.Next([]byte{2, 1, 1}, limits)
	fmt.Println(err)
	// Output: bolt: dialect at offset 1: v2 on a connection that began with v1: open another one for it
}

func ExampleAppendResponse() {
	request, err := bolt.Append(nil, bolt.Message{Dialect: bolt.V2, Type: bolt.Request, Command: bolt.CommandRequest, ID: 9})
	if err != nil {
		fmt.Println(err)
		return
	}
	f, _, err := bolt.Next(request, bolt.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, _, err := bolt.Next(bolt.AppendResponse(nil, f, bolt.StatusNoProcessor), bolt.Limits{})
	fmt.Println(answer.Dialect(), answer.Type(), answer.ID(), answer.Status(), err)
	// Output: v2 response 9 no processor <nil>
}

func ExampleHeader_All() {
	h := bolt.AppendPair(nil, bolt.Service, "com.example.Echo:1.0")
	h = bolt.AppendPair(h, bolt.Method, "echo")
	for pair, err := range h.All() {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s = %s\n", pair.Key, pair.Value)
	}
	// Output:
	// service = com.example.Echo:1.0
	// sofa_head_method_name = echo
}
