package bolt

import (
	"fmt"
	"hash/crc32"
	"testing"
	"time"
)

// request returns a request of size bytes, as SOFARPC sends it.
func request(b *testing.B, d Dialect, toggles uint8, size int) []byte {
	m := Message{
		Dialect: d, Type: Request, Command: CommandRequest, ID: 1, Codec: Hessian2, Switch: toggles, Timeout: 3 * time.Second,
		Class:  "com.alipay.sofa.rpc.core.request.SofaRequest",
		Header: pairs(TargetService, "com.example.Echo:1.0", Method, "echo", Service, "com.example.Echo:1.0"),
	}
	empty, err := Append(nil, m)
	if err != nil {
		b.Fatal(err)
	}
	m.Content = make([]byte, size-len(empty))
	data, err := Append(nil, m)
	if err != nil {
		b.Fatal(err)
	}
	return data
}

// BenchmarkForward measures the cost of forwarding a frame without copying it: Next and SetID.
func BenchmarkForward(b *testing.B) {
	for _, row := range []struct {
		d       Dialect
		toggles uint8
		size    int
	}{{V1, 0, 1 << 10}, {V2, 0, 1 << 10}, {V2CRC, SwitchCRC, 1 << 10}, {V2CRC, SwitchCRC, 1 << 20}} {
		b.Run(fmt.Sprintf("%v/%d", row.d, row.size), func(b *testing.B) {
			data := request(b, row.d, row.toggles, row.size)
			var id uint32
			b.ReportAllocs()
			for b.Loop() {
				f, need, err := Next(data, Limits{})
				if err != nil || need != 0 {
					b.Fatal(need, err)
				}
				id += 0x9e3779b9 // an odd increment that changes all bits of the id
				f.SetID(id)
			}
		})
	}
}

// BenchmarkChecksum computes the CRC of a frame, for comparison with BenchmarkForward.
func BenchmarkChecksum(b *testing.B) {
	data := request(b, V2CRC, SwitchCRC, 1<<10)
	b.SetBytes(int64(len(data)))
	var sum uint32
	for b.Loop() {
		sum += crc32.ChecksumIEEE(data)
	}
	if sum == 0 {
		b.Log("the sum of the sums is 0")
	}
}

// BenchmarkLookup finds the last of three keys.
func BenchmarkLookup(b *testing.B) {
	f := whole(b, request(b, V1, 0, 1<<10))
	b.ReportAllocs()
	for b.Loop() {
		if _, ok, err := f.Header().Lookup(Service); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}
