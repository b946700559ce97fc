package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"example.com/ferry/rpc/call"
)

// Numbers of the fields of grpc.reflection.v1.ServerReflectionRequest and ServerReflectionResponse. Version v1alpha has the same.
const (
	askFileByName     = 3
	askFileOfSymbol   = 4
	gotFiles          = 4
	gotError          = 7
	gotFilesFile      = 1
	gotErrorCode      = 1
	gotErrorText      = 2
	reflectionMethod  = ".ServerReflection.ServerReflectionInfo"
	reflectionV1      = "grpc.reflection.v1"
	reflectionV1alpha = "grpc.reflection.v1alpha"
)

// methodTypes is a method, and the descriptor set that has its types.
type methodTypes struct {
	protoreflect.MethodDescriptor
	set *descriptorpb.FileDescriptorSet
}

// splitMethod splits a name behind its service.
func splitMethod(name string) (service, method string, err error) {
	i := strings.LastIndexByte(name, '.')
	if i <= 0 {
		return "", "", usagef("%q is no method: write SERVICE.METHOD, such as greeter.Greeter.Hello", name)
	}
	return name[:i], name[i+1:], nil
}

// readMethod finds a method in the descriptor set of a file.
func readMethod(file, name string) (m methodTypes, err error) {
	service, method, err := splitMethod(name)
	if err != nil {
		return m, err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return m, usageError{err}
	}
	set := new(descriptorpb.FileDescriptorSet)
	if err := proto.Unmarshal(data, set); err != nil {
		return m, usagef("%s is no descriptor set: %w", file, cleanError(err))
	}
	if m, err = findMethod(set, service, method, file); err != nil {
		err = usageError{err}
	}
	return m, err
}

// reflectMethod asks the server for a method.
func reflectMethod(ctx context.Context, t callTarget, name string) (m methodTypes, err error) {
	service, method, err := splitMethod(name)
	if err != nil {
		return m, err
	}
	conn, err := t.protocol.Dial(ctx, t.transport, t.addr)
	if err != nil {
		return m, &call.Status{Code: call.Unavailable, Message: err.Error()}
	}
	defer conn.Close(ctx)
	var files map[string]*descriptorpb.FileDescriptorProto
	for _, version := range []string{reflectionV1, reflectionV1alpha} {
		files, err = fetchFiles(ctx, conn, version+reflectionMethod, service)
		if call.StatusOf(err) == nil || !errors.Is(err, &call.Status{Code: call.Unimplemented}) {
			break
		}
	}
	switch {
	case errors.Is(err, &call.Status{Code: call.Unimplemented}):
		return m, fmt.Errorf("%w\nthe server has no reflection for gRPC, so its messages are not known: name a descriptor set that has the service with --schema, or choose --content json if the server accepts it", err)
	case errors.Is(err, &call.Status{Code: call.NotFound}):
		return m, call.Errorf(call.Unimplemented, "the server has no service %s: %s", service, call.StatusOf(err).Message)
	case err != nil:
		return m, err
	}
	set := new(descriptorpb.FileDescriptorSet)
	for _, f := range files {
		set.File = append(set.File, f)
	}
	return findMethod(set, service, method, "the server's reflection")
}

// findMethod finds a method in a descriptor set. from says in errors where the set is from.
func findMethod(set *descriptorpb.FileDescriptorSet, service, method, from string) (found methodTypes, err error) {
	registry, err := protodesc.NewFiles(set)
	if err != nil {
		return found, fmt.Errorf("the descriptors of %s are not valid: %w", from, cleanError(err))
	}
	d, err := registry.FindDescriptorByName(protoreflect.FullName(service))
	s, ok := d.(protoreflect.ServiceDescriptor)
	if err != nil || !ok {
		return found, fmt.Errorf("%s does not describe the service %s", from, service)
	}
	m := s.Methods().ByName(protoreflect.Name(method))
	if m == nil {
		var all []string
		for i := range s.Methods().Len() {
			all = append(all, string(s.Methods().Get(i).Name()))
		}
		return found, call.Errorf(call.Unimplemented, "service %s has no method %q: it has %s", service, method, strings.Join(all, ", "))
	}
	if m.IsStreamingClient() || m.IsStreamingServer() {
		return found, call.Errorf(call.Unimplemented, "method %s.%s has streams: ferry call makes unary calls", service, method)
	}
	return methodTypes{m, set}, nil
}

// maxReflectionFiles bounds the files that a server can make ferry call ask for.
const maxReflectionFiles = 1000

// fetchFiles returns the file that declares symbol, and the files that it imports, by name.
func fetchFiles(ctx context.Context, conn call.Conn, method, symbol string) (map[string]*descriptorpb.FileDescriptorProto, error) {
	stream, err := conn.Open(ctx, &call.Head{Method: method, Content: "application/protobuf"})
	if err != nil {
		return nil, err
	}
	defer stream.Cancel()
	files := map[string]*descriptorpb.FileDescriptorProto{}
	if err := ask(stream, askFileOfSymbol, symbol, files); err != nil {
		return nil, err
	}
	for missing := missingFile(files); missing != ""; missing = missingFile(files) {
		if len(files) > maxReflectionFiles {
			return nil, fmt.Errorf("the service %s needs more than %d files", symbol, maxReflectionFiles)
		}
		if err := ask(stream, askFileByName, missing, files); err != nil {
			known, findErr := protoregistry.GlobalFiles.FindFileByPath(missing)
			if findErr != nil {
				return nil, err
			}
			files[missing] = protodesc.ToFileDescriptorProto(known)
		}
		if files[missing] == nil {
			return nil, fmt.Errorf("the server's reflection does not give the file %s", missing)
		}
	}
	return files, nil
}

// missingFile returns the name of a file that is imported and not in files, or "".
func missingFile(files map[string]*descriptorpb.FileDescriptorProto) string {
	for _, f := range files {
		for _, name := range f.GetDependency() {
			if files[name] == nil {
				return name
			}
		}
	}
	return ""
}

// ask sends one request with a text and adds the files of the response.
func ask(stream call.ClientStream, kind protowire.Number, text string, files map[string]*descriptorpb.FileDescriptorProto) error {
	request := protowire.AppendString(protowire.AppendTag(nil, kind, protowire.BytesType), text)
	_ = stream.Send(request) // its only error is the end of the stream, which Recv explains
	data, err := stream.Recv()
	if err != nil {
		return err
	}
	return eachBytes(data, func(n protowire.Number, value []byte) error {
		switch n {
		case gotError:
			return reflectionError(value)
		case gotFiles:
			return eachBytes(value, func(n protowire.Number, value []byte) error {
				f := new(descriptorpb.FileDescriptorProto)
				if err := proto.Unmarshal(value, f); n != gotFilesFile || err != nil {
					return err
				}
				files[f.GetName()] = f
				return nil
			})
		}
		return nil
	})
}

// reflectionError reads an ErrorResponse.
func reflectionError(data []byte) error {
	s := &call.Status{Code: call.Unknown}
	for len(data) > 0 {
		n, kind, size := protowire.ConsumeTag(data)
		if size < 0 {
			return protowire.ParseError(size)
		}
		data = data[size:]
		switch {
		case n == gotErrorCode && kind == protowire.VarintType:
			var code uint64
			code, size = protowire.ConsumeVarint(data)
			s.Code = call.Code(code)
		case n == gotErrorText && kind == protowire.BytesType:
			var text []byte
			text, size = protowire.ConsumeBytes(data)
			s.Message = string(text)
		default:
			size = protowire.ConsumeFieldValue(n, kind, data)
		}
		if size < 0 {
			return protowire.ParseError(size)
		}
		data = data[size:]
	}
	return s
}

// eachBytes calls visit for each field of a message that is a message, a text or bytes.
func eachBytes(data []byte, visit func(protowire.Number, []byte) error) error {
	for len(data) > 0 {
		n, kind, size := protowire.ConsumeTag(data)
		if size < 0 {
			return protowire.ParseError(size)
		}
		data = data[size:]
		if size = protowire.ConsumeFieldValue(n, kind, data); size < 0 {
			return protowire.ParseError(size)
		}
		if kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(data)
			if err := visit(n, value); err != nil {
				return err
			}
		}
		data = data[size:]
	}
	return nil
}
