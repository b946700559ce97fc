package web_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"example.com/ferry/broker"
	"example.com/ferry/edge"
	"example.com/ferry/edge/web"
	"example.com/ferry/format"
	"example.com/ferry/format/json"
)

// A server publishes what clients POST.
func Example() {
	b, err := broker.New(broker.Config{Identify: broker.Anyone, Formats: []format.Format{json.Format{}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := web.Listen(web.Config{Broker: b, Config: edge.Config{Address: "127.0.0.1:0"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := http.Post("http://"+s.Addr().String()+"/v1/tags/plant/1", "application/json", strings.NewReader(`{"value":31}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = res.Body.Close()
	fmt.Println(res.Status)
	_ = s.Drain(context.Background())
	fmt.Println(b.Shutdown(context.Background()))
	// Output:
	// 204 No Content
	// <nil>
}
