package native

import (
	"encoding/binary"
	"fmt"
)

// Sizes of calls in bytes.
const (
	CallHeaderSize   = HeaderSize + 12 // header of a CALL without extension and message
	ReplyHeaderSize  = HeaderSize + 8  // header of a REPLY without extension and message
	DataHeaderSize   = HeaderSize + 4  // header of a DATA without extension and message
	MaxPiece         = 64 << 10        // the longest part of a message in one frame
	MaxCallExtension = 64 << 10        // the longest extension of a CALL, REPLY or DATA
	MaxMethodName    = 255             // the longest method name and content type
)

// MessageOverhead is what each message of a stream takes of the stream's window beside its length, in bytes. It bounds the memory of
// empty messages.
const MessageOverhead = 64

// MaxMethods is how many numbers of methods one end may use on one stream.
const MaxMethods = 1024

// longExtension in the header says that the length of the extension, in words, is a u32 behind the fixed fields.
const longExtension = 255

// Flags of CALL, REPLY and DATA.
const (
	FlagMore       = 0x01 // the message continues in the next DATA, or REPLY, of the call from this end
	FlagEnd        = 0x02 // CALL, DATA: the caller's last frame with a message. REPLY always ends the call
	FlagNoMessage  = 0x04 // the frame carries no part of a message
	FlagCompressed = 0x08 // the message that begins in this frame is compressed
	FlagNotBegun   = 0x10 // REPLY: no handler has seen the call, so another attempt is safe
	FlagWithdraw   = 0x01 // OFFER: the client does not serve the service any more
)

// The compressions of a CALL.
const (
	Uncompressed uint8 = 0
	Gzip         uint8 = 1
	Zstd         uint8 = 2
)

// CallLimits bounds the calls that the receiver of a HELLO or WELCOME makes to its sender. The zero value means that the sender
// accepts no calls.
type CallLimits struct {
	Calls        uint32 // calls in progress
	Window       uint32 // bytes of single requests in progress
	StreamWindow uint32 // bytes of each stream of messages, requests or responses, before CALLCREDIT
}

// CallFrame begins a call. Extension holds TLVs. Message is the request, or its first piece, or empty with FlagNoMessage.
// Parsed frames hold views.
type CallFrame struct {
	Flags       byte
	Compression uint8 // that the caller uses for its messages and accepts for responses
	Call        uint32
	Method      uint16 // number from METHOD
	Timeout     uint32 // milliseconds; 0 means none
	Extension   []byte
	Message     []byte
}

// ReplyFrame ends a call. Code is a code of gRPC; 0 is OK.
type ReplyFrame struct {
	Flags     byte
	Call      uint32
	Code      uint32
	Extension []byte
	Message   []byte
}

// DataFrame carries a message of a call, or a piece of one. The first DATA of the called end may have the header in its Extension.
type DataFrame struct {
	Flags     byte
	Call      uint32
	Extension []byte
	Message   []byte
}

// CancelFrame asks the called end to end a call. REPLY still follows.
type CancelFrame struct{ Call, Code uint32 }

// MethodFrame gives a number to a method and a content type, for the CALLs that follow on the same stream.
type MethodFrame struct {
	Number  uint16
	Method  string // such as greeter.Greeter.Hello: a service, a dot, a method
	Content string // such as application/json
}

// CallCreditFrame allows the receiver to send Bytes more bytes of messages on a call.
type CallCreditFrame struct{ Call, Bytes uint32 }

// OfferFrame says that a client serves the calls of a service, or does not any more. The response is RESULT.
type OfferFrame struct {
	ID       uint32 // number of the offer, chosen by the client; not 0
	Withdraw bool   // the client does not serve any more; Service is ignored
	Service  string // such as greeter.Greeter
}

// fixedSize returns the length of the fixed fields of a PUB, CALL, REPLY or DATA, or 0 for other kinds.
func fixedSize(k Kind) int {
	switch k {
	case Pub:
		return PubHeaderSize
	case Call:
		return CallHeaderSize
	case Reply:
		return ReplyHeaderSize
	case Data:
		return DataHeaderSize
	}
	return 0
}

// extended returns the offsets of the extension and the message of a PUB, CALL, REPLY or DATA with the given size whose header has
// arrived. It returns 0 and 0 for other kinds, and if the length of a long extension has not arrived.
func extended(buf []byte, size int) (extension, message int, err error) {
	k := Kind(buf[4])
	extension = fixedSize(k)
	if extension == 0 {
		return 0, 0, nil
	}
	message = extension + 4*int(buf[7])
	if buf[7] == longExtension && k == Pub && size >= HeaderSize+4 && len(buf) < HeaderSize+4 {
		return 0, 0, nil // the tag number decides about the extension
	}
	if buf[7] == longExtension && (k != Pub || size >= HeaderSize+4 && Frame(buf).Tag() == ByName) {
		extension, message = extension+4, extension+4
		if size >= extension {
			if len(buf) < extension {
				return 0, 0, nil
			}
			words := binary.BigEndian.Uint32(buf[extension-4:])
			if words > MaxCallExtension/4 {
				return 0, 0, &Error{Code: CodeProtocol, Reason: fmt.Sprintf("%v frame with an extension of %d words: at most %d bytes are accepted", k, words, MaxCallExtension)}
			}
			message += 4 * int(words)
		}
	}
	if size < message {
		return 0, 0, &Error{Code: CodeProtocol, Reason: fmt.Sprintf("%v frame of %d bytes cannot hold its header of %d", k, size, message)}
	}
	return extension, message, nil
}

// parts returns the extension and the message of a frame from Split.
func (f Frame) parts() (extension, message []byte, err error) {
	e, m, err := extended(f, len(f))
	return f[e:m:m], f[m:], err
}

// AppendCall appends a CALL.
func AppendCall(dst []byte, c CallFrame) []byte {
	n := len(dst)
	dst = append(dst, 0, 0, 0, 0, byte(Call), c.Flags, c.Compression, 0)
	dst = binary.BigEndian.AppendUint32(dst, c.Call)
	dst = append(dst, byte(c.Method>>8), byte(c.Method), 0, 0)
	dst = binary.BigEndian.AppendUint32(dst, c.Timeout)
	return appendExtended(dst, n, c.Extension, c.Message)
}

// AppendReply appends a REPLY.
func AppendReply(dst []byte, r ReplyFrame) []byte {
	n := len(dst)
	dst = binary.BigEndian.AppendUint32(appendHeader(dst, Reply, r.Flags), r.Call)
	return appendExtended(binary.BigEndian.AppendUint32(dst, r.Code), n, r.Extension, r.Message)
}

// AppendData appends a DATA.
func AppendData(dst []byte, d DataFrame) []byte {
	n := len(dst)
	return appendExtended(binary.BigEndian.AppendUint32(appendHeader(dst, Data, d.Flags), d.Call), n, d.Extension, d.Message)
}

// appendExtended appends the rest of a frame that begins at start and whose fixed fields are complete. It pads the extension.
func appendExtended(dst []byte, start int, extension, message []byte) []byte {
	if words := (len(extension) + 3) / 4; words > 0 {
		if words < longExtension {
			dst[start+7] = byte(words)
		} else {
			dst[start+7] = longExtension
			dst = binary.BigEndian.AppendUint32(dst, uint32(words))
		}
		dst = append(dst, extension...)
		dst = append(dst, "\x00\x00\x00"[:4*words-len(extension)]...)
	}
	return seal(append(dst, message...), start)
}

// AppendCancel appends a CANCEL.
func AppendCancel(dst []byte, c CancelFrame) []byte { return appendPair(dst, Cancel, c.Call, c.Code) }

// AppendCallCredit appends a CALLCREDIT.
func AppendCallCredit(dst []byte, c CallCreditFrame) []byte {
	return appendPair(dst, CallCredit, c.Call, c.Bytes)
}

func appendPair(dst []byte, k Kind, a, b uint32) []byte {
	n := len(dst)
	dst = binary.BigEndian.AppendUint32(appendHeader(dst, k, 0), a)
	return seal(binary.BigEndian.AppendUint32(dst, b), n)
}

// AppendMethod appends a METHOD.
func AppendMethod(dst []byte, m MethodFrame) []byte {
	n := len(dst)
	dst = append(appendHeader(dst, Method, 0), byte(m.Number>>8), byte(m.Number), 0, 0)
	return seal(appendText(appendText(dst, m.Method), m.Content), n)
}

// AppendOffer appends an OFFER.
func AppendOffer(dst []byte, o OfferFrame) []byte {
	n := len(dst)
	flags := byte(0)
	if o.Withdraw {
		flags = FlagWithdraw
	}
	dst = binary.BigEndian.AppendUint32(appendHeader(dst, Offer, flags), o.ID)
	return seal(appendText(dst, o.Service), n)
}

// ParseOffer reads an OFFER.
func ParseOffer(f Frame) (o OfferFrame, err error) {
	r := readFields(f)
	o.ID, o.Service, o.Withdraw = r.u32(), r.text(), f.Flags()&FlagWithdraw != 0
	if err := r.done(); err != nil {
		return o, err
	}
	if o.ID == 0 {
		return o, &Error{Code: CodeProtocol, Reason: "OFFER with id 0"}
	}
	return o, nil
}

// SetCall overwrites the call number of a CALL, REPLY, DATA, CANCEL or CALLCREDIT that was parsed. A node calls it before it forwards
// the frame to another connection.
func (f Frame) SetCall(id uint32) { binary.BigEndian.PutUint32(f[8:], id) }

// OddCall reports whether a DATA, CANCEL or CALLCREDIT, which need not be parsed, has the number of a call that a client makes.
func (f Frame) OddCall() bool { return len(f) >= 12 && f[11]&1 != 0 }

// SetMethod overwrites the method number of a CALL that was parsed.
func (f Frame) SetMethod(number uint16) { binary.BigEndian.PutUint16(f[12:], number) }

// SetTimeout overwrites the timeout of a CALL that was parsed, in milliseconds.
func (f Frame) SetTimeout(ms uint32) { binary.BigEndian.PutUint32(f[16:], ms) }

// ParseCall reads a CALL from Split.
func ParseCall(f Frame) (c CallFrame, err error) {
	c.Extension, c.Message, err = f.parts()
	if err != nil {
		return c, err
	}
	c.Flags, c.Compression = f[5], f[6]
	c.Call, c.Method, c.Timeout = binary.BigEndian.Uint32(f[8:]), binary.BigEndian.Uint16(f[12:]), binary.BigEndian.Uint32(f[16:])
	return c, f.checkMessage(c.Message)
}

// ParseReply reads a REPLY from Split.
func ParseReply(f Frame) (r ReplyFrame, err error) {
	r.Extension, r.Message, err = f.parts()
	if err != nil {
		return r, err
	}
	r.Flags, r.Call, r.Code = f[5], binary.BigEndian.Uint32(f[8:]), binary.BigEndian.Uint32(f[12:])
	return r, f.checkMessage(r.Message)
}

// ParseData reads a DATA from Split.
func ParseData(f Frame) (d DataFrame, err error) {
	d.Extension, d.Message, err = f.parts()
	if err != nil {
		return d, err
	}
	d.Flags, d.Call = f[5], binary.BigEndian.Uint32(f[8:])
	return d, f.checkMessage(d.Message)
}

// checkMessage returns an error if the flags of f contradict its message.
func (f Frame) checkMessage(message []byte) error {
	if f[5]&FlagNoMessage != 0 && (len(message) > 0 || f[5]&(FlagMore|FlagCompressed) != 0) {
		return &Error{Code: CodeProtocol, Reason: fmt.Sprintf("%v frame with flags %#x and %d bytes of a message", f.Kind(), f[5], len(message))}
	}
	if len(message) > MaxPiece {
		return &Error{Code: CodeTooLarge, Reason: fmt.Sprintf("%v frame with %d bytes of a message: pieces have at most %d", f.Kind(), len(message), MaxPiece)}
	}
	return nil
}

// ParseCancel reads a CANCEL.
func ParseCancel(f Frame) (c CancelFrame, err error) {
	r := readFields(f)
	c.Call, c.Code = r.u32(), r.u32()
	return c, r.done()
}

// ParseCallCredit reads a CALLCREDIT.
func ParseCallCredit(f Frame) (c CallCreditFrame, err error) {
	r := readFields(f)
	c.Call, c.Bytes = r.u32(), r.u32()
	return c, r.done()
}

// ParseMethod reads a METHOD.
func ParseMethod(f Frame) (m MethodFrame, err error) {
	r := readFields(f)
	m.Number = r.u16()
	r.take(2)
	m.Method, m.Content = r.text(), r.text()
	if err := r.done(); err != nil {
		return m, err
	}
	switch {
	case m.Number >= MaxMethods:
		err = &Error{Code: CodeLimit, Reason: fmt.Sprintf("METHOD %d: numbers are below %d", m.Number, MaxMethods)}
	case m.Method == "" || len(m.Method) > MaxMethodName || len(m.Content) > MaxMethodName:
		err = &Error{Code: CodeBadRequest, Reason: fmt.Sprintf("METHOD with names of %d and %d bytes: 1 to %d are accepted", len(m.Method), len(m.Content), MaxMethodName)}
	}
	return m, err
}
