package reflection

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"example.com/ferry/rpc/call"
)

// catalog finds descriptors: those of the services of a server and of their messages, and all others of the program.
type catalog struct {
	services []string             // sorted
	own      *protoregistry.Files // files of messages that the program has not registered, and files made of methods
}

var _ protodesc.Resolver = (*catalog)(nil)

// described is a method with its messages.
type described struct {
	call.Method
	request, response protoreflect.MessageDescriptor // nil if they are not Protocol Buffers
}

// collect makes a catalog of methods.
func collect(methods []call.Method) *catalog {
	c := &catalog{own: new(protoregistry.Files)}
	byService := make(map[string][]described)
	for _, m := range methods {
		i := strings.LastIndexByte(m.Name(), '.')
		if i <= 0 {
			continue
		}
		service := m.Name()[:i]
		d := described{Method: m}
		if typed, ok := m.(interface {
			Types() (request, response reflect.Type)
		}); ok {
			request, response := typed.Types()
			d.request, d.response = descriptorOf(request), descriptorOf(response)
		}
		if !slices.Contains(c.services, service) {
			c.services = append(c.services, service)
		}
		byService[service] = append(byService[service], d)
	}
	slices.Sort(c.services)
	for _, service := range c.services {
		if _, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service)); err == nil {
			continue // a linked .proto file declares the service
		}
		if service == healthService {
			c.add(healthFile())
			continue
		}
		c.add(c.fileOf(service, byService[service]))
	}
	return c
}

// descriptorOf returns the descriptor of a message without its pointer, or nil if t is no message.
func descriptorOf(t reflect.Type) protoreflect.MessageDescriptor {
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	if m, ok := reflect.New(t).Interface().(proto.Message); ok {
		return m.ProtoReflect().Descriptor()
	}
	return nil
}

// add makes a file known, if it is valid. A service without a valid file is listed and not described.
func (c *catalog) add(f *descriptorpb.FileDescriptorProto) {
	if f == nil {
		return
	}
	if file, err := protodesc.NewFile(f, c); err == nil {
		_ = c.own.RegisterFile(file) // fails if a message has the same name: the message then wins
	}
}

// know makes the file of a message known, and all that it imports.
func (c *catalog) know(f protoreflect.FileDescriptor) {
	if _, err := c.FindFileByPath(f.Path()); err == nil {
		return
	}
	imports := f.Imports()
	for i := range imports.Len() {
		c.know(imports.Get(i).FileDescriptor)
	}
	_ = c.own.RegisterFile(f) // fails if another file declares the same names, which then describes them
}

// fileOf returns a file that declares a service, or nil if none of its methods has messages.
func (c *catalog) fileOf(service string, methods []described) *descriptorpb.FileDescriptorProto {
	pkg, name := "", service
	if i := strings.LastIndexByte(service, '.'); i >= 0 {
		pkg, name = service[:i], service[i+1:]
	}
	declared := &descriptorpb.ServiceDescriptorProto{Name: proto.String(name)}
	f := &descriptorpb.FileDescriptorProto{
		Name: proto.String("ferry/" + service + ".proto"), Syntax: proto.String("proto3"), Service: []*descriptorpb.ServiceDescriptorProto{declared},
	}
	if pkg != "" {
		f.Package = proto.String(pkg)
	}
	for _, m := range methods {
		if m.request == nil || m.response == nil {
			continue
		}
		clientStreams, serverStreams := m.Shape()
		declared.Method = append(declared.Method, &descriptorpb.MethodDescriptorProto{
			Name:            proto.String(strings.TrimPrefix(m.Name(), service+".")),
			InputType:       proto.String("." + string(m.request.FullName())),
			OutputType:      proto.String("." + string(m.response.FullName())),
			ClientStreaming: proto.Bool(clientStreams), ServerStreaming: proto.Bool(serverStreams),
		})
		for _, d := range []protoreflect.MessageDescriptor{m.request, m.response} {
			file := d.ParentFile()
			c.know(file)
			if !slices.Contains(f.Dependency, file.Path()) {
				f.Dependency = append(f.Dependency, file.Path())
			}
		}
	}
	if len(declared.Method) == 0 {
		return nil
	}
	return f
}

// FindFileByPath implements protodesc.Resolver.
func (c *catalog) FindFileByPath(path string) (protoreflect.FileDescriptor, error) {
	if f, err := c.own.FindFileByPath(path); err == nil {
		return f, nil
	}
	f, err := protoregistry.GlobalFiles.FindFileByPath(path)
	return f, notFound(err, path)
}

// FindDescriptorByName implements protodesc.Resolver.
func (c *catalog) FindDescriptorByName(name protoreflect.FullName) (protoreflect.Descriptor, error) {
	if d, err := c.own.FindDescriptorByName(name); err == nil {
		return d, nil
	}
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	return d, notFound(err, string(name))
}

// notFound names what was not found.
func notFound(err error, what string) error {
	if errors.Is(err, protoregistry.NotFound) {
		return fmt.Errorf("reflection: %q: %w", what, protoregistry.NotFound)
	}
	return err
}

func (c *catalog) fileOfExtension(message protoreflect.FullName, n protoreflect.FieldNumber) (protoreflect.FileDescriptor, error) {
	x, err := protoregistry.GlobalTypes.FindExtensionByNumber(message, n)
	if err != nil {
		return nil, notFound(err, fmt.Sprintf("extension %d of %s", n, message))
	}
	return x.TypeDescriptor().ParentFile(), nil
}

// extensionsOf returns the numbers of all extensions of a message, sorted.
func (c *catalog) extensionsOf(message protoreflect.FullName) ([]protoreflect.FieldNumber, error) {
	if _, err := c.FindDescriptorByName(message); err != nil {
		return nil, err
	}
	var numbers []protoreflect.FieldNumber
	protoregistry.GlobalTypes.RangeExtensionsByMessage(message, func(x protoreflect.ExtensionType) bool {
		numbers = append(numbers, x.TypeDescriptor().Number())
		return true
	})
	slices.Sort(numbers)
	return numbers, nil
}

// appendFiles appends a file and all that it imports, without those in sent, as fields of a FileDescriptorResponse.
func appendFiles(dst []byte, f protoreflect.FileDescriptor, sent map[string]bool) ([]byte, error) {
	if sent[f.Path()] || f.IsPlaceholder() {
		return dst, nil
	}
	sent[f.Path()] = true
	data, err := proto.Marshal(protodesc.ToFileDescriptorProto(f))
	if err != nil {
		return dst, fmt.Errorf("reflection: %s: %w", f.Path(), err)
	}
	dst = appendField(dst, descriptorFile, data)
	imports := f.Imports()
	for i := range imports.Len() {
		if dst, err = appendFiles(dst, imports.Get(i).FileDescriptor, sent); err != nil {
			return dst, err
		}
	}
	return dst, nil
}
