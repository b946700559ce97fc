package keepalive

import (
	"fmt"
	"time"

	"example.com/ferry/protocol/bolt"
)

// boltWire encodes and checks requests and responses of SOFABolt v1.
type boltWire struct {
	call, reply         bolt.Frame
	callBytes, repBytes []byte
	body                []byte // of call
}

func newBolt(size int) (*boltWire, error) {
	header := bolt.AppendPair(nil, "service", "com.example.Orders:1.0")
	w := new(boltWire)
	var err error
	if w.call, w.callBytes, err = frame(bolt.Message{
		Type: bolt.Request, Command: bolt.CommandRequest, Timeout: 3 * time.Second,
		Class: "com.alipay.sofa.rpc.core.request.SofaRequest", Header: header, Content: newBody(size),
	}); err != nil {
		return nil, err
	}
	w.body = w.call.Content()
	w.reply, w.repBytes, err = frame(bolt.Message{
		Type: bolt.Response, Command: bolt.CommandResponse,
		Class: "com.alipay.sofa.rpc.core.response.SofaResponse", Content: newBody(size),
	})
	return w, err
}

// frame encodes a message and decodes it again. The caller can set the ID in the decoded frame.
func frame(m bolt.Message) (f bolt.Frame, encoded []byte, err error) {
	m.Dialect, m.Codec = bolt.V1, bolt.Hessian2
	if encoded, err = bolt.Append(nil, m); err != nil {
		return f, nil, err
	}
	f, _, err = bolt.Next(encoded, bolt.Limits{})
	return f, encoded, err
}

func (w *boltWire) request(id uint64) []byte {
	w.call.SetID(uint32(id))
	mark(w.body, id)
	return w.callBytes
}

func (w *boltWire) checkResponse(in []byte, id uint64) (int, error) {
	f, need, err := bolt.Next(in, bolt.Limits{})
	if err != nil || need > 0 || f.FrameLen() > len(in) {
		return 0, err
	}
	if f.Type() != bolt.Response || f.Status() != bolt.StatusSuccess || f.ID() != uint32(id) {
		return 0, fmt.Errorf("%v %d with %v: want the response to %d, and success", f.Type(), f.ID(), f.Status(), uint32(id))
	}
	mark(w.body, id)
	return f.FrameLen(), checkBody(f.Content(), w.body)
}

func (w *boltWire) respond(dst, in []byte) ([]byte, int, error) {
	f, need, err := bolt.Next(in, bolt.Limits{})
	if err != nil || need > 0 || f.FrameLen() > len(in) {
		return dst, 0, err
	}
	if f.Command() == bolt.CommandHeartbeat {
		return bolt.AppendHeartbeatAck(dst, f), f.FrameLen(), nil
	}
	body := f.Content()
	if f.Type() != bolt.Request || len(body) != len(w.body) {
		return dst, 0, fmt.Errorf("%v with %d bytes of content: want a request with %d", f.Type(), len(body), len(w.body))
	}
	if err := checkBody(body[markLen:], w.body[markLen:]); err != nil {
		return dst, 0, err
	}
	w.reply.SetID(f.ID())
	copy(w.reply.Content(), body[:markLen])
	return append(dst, w.repBytes...), f.FrameLen(), nil
}
