package echo

import (
	"encoding/json"
	"fmt"
)

// Plain is Message as a plain struct, for content types other than protobuf.
type Plain struct {
	Field1   *string  `json:"field1,omitempty" codec:"field1,omitempty" y3:"0x10"`
	Field2   *int32   `json:"field2,omitempty" codec:"field2,omitempty" y3:"0x11"`
	Field3   *int32   `json:"field3,omitempty" codec:"field3,omitempty" y3:"0x12"`
	Field4   *string  `json:"field4,omitempty" codec:"field4,omitempty" y3:"0x13"`
	Field5   []uint64 `json:"field5,omitempty" codec:"field5,omitempty" y3:"0x14"`
	Field6   *int32   `json:"field6,omitempty" codec:"field6,omitempty" y3:"0x15"`
	Field7   *string  `json:"field7,omitempty" codec:"field7,omitempty" y3:"0x16"`
	Field9   *string  `json:"field9,omitempty" codec:"field9,omitempty" y3:"0x17"`
	Field12  *bool    `json:"field12,omitempty" codec:"field12,omitempty" y3:"0x18"`
	Field13  *bool    `json:"field13,omitempty" codec:"field13,omitempty" y3:"0x19"`
	Field14  *bool    `json:"field14,omitempty" codec:"field14,omitempty" y3:"0x1a"`
	Field16  *int32   `json:"field16,omitempty" codec:"field16,omitempty" y3:"0x1b"`
	Field17  *bool    `json:"field17,omitempty" codec:"field17,omitempty" y3:"0x1c"`
	Field18  *string  `json:"field18,omitempty" codec:"field18,omitempty" y3:"0x1d"`
	Field22  *int64   `json:"field22,omitempty" codec:"field22,omitempty" y3:"0x1e"`
	Field23  *int32   `json:"field23,omitempty" codec:"field23,omitempty" y3:"0x1f"`
	Field24  *bool    `json:"field24,omitempty" codec:"field24,omitempty" y3:"0x20"`
	Field25  *int32   `json:"field25,omitempty" codec:"field25,omitempty" y3:"0x21"`
	Field29  *int32   `json:"field29,omitempty" codec:"field29,omitempty" y3:"0x22"`
	Field30  *bool    `json:"field30,omitempty" codec:"field30,omitempty" y3:"0x23"`
	Field59  *bool    `json:"field59,omitempty" codec:"field59,omitempty" y3:"0x24"`
	Field60  *int32   `json:"field60,omitempty" codec:"field60,omitempty" y3:"0x25"`
	Field67  *int32   `json:"field67,omitempty" codec:"field67,omitempty" y3:"0x26"`
	Field68  *int32   `json:"field68,omitempty" codec:"field68,omitempty" y3:"0x27"`
	Field78  *bool    `json:"field78,omitempty" codec:"field78,omitempty" y3:"0x28"`
	Field80  *bool    `json:"field80,omitempty" codec:"field80,omitempty" y3:"0x29"`
	Field81  *bool    `json:"field81,omitempty" codec:"field81,omitempty" y3:"0x2a"`
	Field100 *int32   `json:"field100,omitempty" codec:"field100,omitempty" y3:"0x2b"`
	Field101 *int32   `json:"field101,omitempty" codec:"field101,omitempty" y3:"0x2c"`
	Field102 *string  `json:"field102,omitempty" codec:"field102,omitempty" y3:"0x2d"`
	Field103 *string  `json:"field103,omitempty" codec:"field103,omitempty" y3:"0x2e"`
	Field104 *int32   `json:"field104,omitempty" codec:"field104,omitempty" y3:"0x2f"`
	Field128 *int32   `json:"field128,omitempty" codec:"field128,omitempty" y3:"0x30"`
	Field129 *string  `json:"field129,omitempty" codec:"field129,omitempty" y3:"0x31"`
	Field130 *int32   `json:"field130,omitempty" codec:"field130,omitempty" y3:"0x32"`
	Field131 *int32   `json:"field131,omitempty" codec:"field131,omitempty" y3:"0x33"`
	Field150 *int32   `json:"field150,omitempty" codec:"field150,omitempty" y3:"0x34"`
	Field271 *int32   `json:"field271,omitempty" codec:"field271,omitempty" y3:"0x35"`
	Field272 *int32   `json:"field272,omitempty" codec:"field272,omitempty" y3:"0x36"`
	Field280 *int32   `json:"field280,omitempty" codec:"field280,omitempty" y3:"0x37"`
}

// NewPlain returns a request with the values of NewMessage.
func NewPlain() *Plain {
	data, err := json.Marshal(NewMessage())
	p := new(Plain)
	if err == nil {
		err = json.Unmarshal(data, p)
	}
	if err != nil {
		panic(err) // NewMessage has no value that JSON cannot carry
	}
	return p
}

// RespondPlain is Respond for a Plain.
func RespondPlain(p *Plain) *Plain {
	s, n := okText, int32(okNumber)
	p.Field1, p.Field2 = &s, &n
	return p
}

// VerifyPlain is Verify for a Plain.
func VerifyPlain(p *Plain) error {
	if p.Field1 == nil || *p.Field1 != okText || p.Field2 == nil || *p.Field2 != okNumber || p.Field4 == nil || *p.Field4 != text || p.Field280 == nil || *p.Field280 != number {
		return fmt.Errorf("echo: wrong response: %+v", p)
	}
	return nil
}
