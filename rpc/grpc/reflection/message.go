package reflection

import (
	"encoding/binary"
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"example.com/ferry/format/protobuf"
	"example.com/ferry/rpc/call"
)

// The field numbers of grpc.reflection.v1.ServerReflectionRequest. The kind of a request is the number of the field that is set.
const (
	requestHost                    = 1
	fileByFilename                 = 3
	fileContainingSymbol           = 4
	fileContainingExtension        = 5
	allExtensionNumbersOfType      = 6
	listServices                   = 7
	extensionContainingType        = 1 // of ExtensionRequest
	extensionNumber                = 2
	responseHost                   = 1 // of ServerReflectionResponse
	responseRequest                = 2
	fileDescriptorResponse         = 4
	allExtensionNumbersResponse    = 5
	listServicesResponse           = 6
	errorResponse                  = 7
	descriptorFile                 = 1 // of FileDescriptorResponse
	numbersBaseType, numbersNumber = 1, 2
	listService, serviceName       = 1, 1
	errorCode, errorMessage        = 1, 2
)

// request is a ServerReflectionRequest.
type request struct {
	raw    []byte
	host   string
	kind   protowire.Number
	name   string
	number protoreflect.FieldNumber // of fileContainingExtension
}

var errRequest = errors.New("reflection: the request is no grpc.reflection.v1.ServerReflectionRequest with one of its kinds set")

func parseRequest(data []byte) (request, error) {
	r := request{raw: data}
	err := eachField(data, func(n protowire.Number, value []byte, _ uint64) error {
		switch n {
		case requestHost:
			r.host = string(value)
		case fileByFilename, fileContainingSymbol, allExtensionNumbersOfType, listServices:
			r.kind, r.name = n, string(value)
		case fileContainingExtension:
			r.kind = n
			return eachField(value, func(n protowire.Number, value []byte, number uint64) error {
				switch n {
				case extensionContainingType:
					r.name = string(value)
				case extensionNumber:
					r.number = protoreflect.FieldNumber(int32(number))
				}
				return nil
			})
		}
		return nil
	})
	if err != nil || r.kind == 0 {
		return r, errRequest
	}
	return r, nil
}

// eachField calls f for each field of a message, with its bytes or its number. Fields of other wire types are skipped.
func eachField(data []byte, f func(n protowire.Number, value []byte, number uint64) error) error {
	for pos := 0; pos < len(data); {
		r, err := protobuf.Next(data, pos)
		if err != nil {
			return err
		}
		if value := data[r.Off:r.End]; r.Wire == 0 || r.Wire == 2 {
			number, _ := binary.Uvarint(value)
			if err := f(protowire.Number(r.Number), value, number); err != nil {
				return err
			}
		}
		pos = r.End
	}
	return nil
}

// respond returns the ServerReflectionResponse to r. Files in sent are left out: the client has them.
func respond(r request, c *catalog, sent map[string]bool) []byte {
	out := appendField(nil, responseHost, []byte(r.host))
	out = appendField(out, responseRequest, r.raw)
	kind, body, err := protowire.Number(fileDescriptorResponse), []byte(nil), error(nil)
	var file protoreflect.FileDescriptor
	switch r.kind {
	case fileByFilename:
		file, err = c.FindFileByPath(r.name)
	case fileContainingSymbol:
		var d protoreflect.Descriptor
		if d, err = c.FindDescriptorByName(protoreflect.FullName(r.name)); err == nil {
			file = d.ParentFile()
		}
	case fileContainingExtension:
		file, err = c.fileOfExtension(protoreflect.FullName(r.name), r.number)
	case allExtensionNumbersOfType:
		kind = allExtensionNumbersResponse
		var numbers []protoreflect.FieldNumber
		numbers, err = c.extensionsOf(protoreflect.FullName(r.name))
		body = appendField(nil, numbersBaseType, []byte(r.name))
		var packed []byte
		for _, n := range numbers {
			packed = protowire.AppendVarint(packed, uint64(n))
		}
		body = appendField(body, numbersNumber, packed)
	case listServices:
		kind = listServicesResponse
		for _, name := range c.services {
			body = appendField(body, listService, appendField(nil, serviceName, []byte(name)))
		}
	}
	if err == nil && file != nil {
		body, err = appendFiles(nil, file, sent)
	}
	if err != nil {
		kind = errorResponse
		body = protowire.AppendVarint(protowire.AppendTag(nil, errorCode, protowire.VarintType), uint64(call.NotFound))
		body = appendField(body, errorMessage, []byte(err.Error()))
	}
	return appendField(out, kind, body)
}

func appendField(dst []byte, n protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, n, protowire.BytesType), value)
}
