package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// describe does what grpcurl does: it lists the services of a server, learns what the messages of a method are, and calls it with a
// message in JSON. It knows no .proto file.
func describe(address, service, method, message string) error {
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := reflectionpb.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
	if err != nil {
		return err
	}
	list, err := ask(s, &reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}})
	if err != nil {
		return err
	}
	var names []string
	for _, n := range list.GetListServicesResponse().GetService() {
		names = append(names, n.Name)
	}
	fmt.Println("services", strings.Join(names, " "))
	found, err := ask(s, &reflectionpb.ServerReflectionRequest{
		MessageRequest: &reflectionpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: service},
	})
	if err != nil {
		return err
	}
	m, err := find(found.GetFileDescriptorResponse().GetFileDescriptorProto(), service, method)
	if err != nil {
		return err
	}
	in, out := dynamicpb.NewMessage(m.Input()), dynamicpb.NewMessage(m.Output())
	fmt.Println("method", m.FullName(), in.Descriptor().FullName(), out.Descriptor().FullName())
	if err := protojson.Unmarshal([]byte(message), in); err != nil {
		return err
	}
	if err := conn.Invoke(ctx, "/"+service+"/"+method, in, out); err != nil {
		return err
	}
	text, err := protojson.Marshal(out)
	if err != nil {
		return err
	}
	var compact bytes.Buffer // protojson's spaces differ between builds
	if err := json.Compact(&compact, text); err != nil {
		return err
	}
	fmt.Println("response", compact.String())
	return nil
}

// ask sends a request to the reflection service.
func ask(s reflectionpb.ServerReflection_ServerReflectionInfoClient, r *reflectionpb.ServerReflectionRequest) (*reflectionpb.ServerReflectionResponse, error) {
	if err := s.Send(r); err != nil {
		return nil, err
	}
	response, err := s.Recv()
	if e := response.GetErrorResponse(); e != nil {
		return nil, fmt.Errorf("%v: %s", r, e.ErrorMessage)
	}
	return response, err
}

// find returns the descriptor of a method.
func find(files [][]byte, service, method string) (protoreflect.MethodDescriptor, error) {
	set := new(descriptorpb.FileDescriptorSet)
	for _, data := range files {
		f := new(descriptorpb.FileDescriptorProto)
		if err := proto.Unmarshal(data, f); err != nil {
			return nil, err
		}
		set.File = append(set.File, f)
	}
	all, err := protodesc.NewFiles(set)
	if err != nil {
		return nil, err
	}
	d, err := all.FindDescriptorByName(protoreflect.FullName(service + "." + method))
	if err != nil {
		return nil, err
	}
	m, ok := d.(protoreflect.MethodDescriptor)
	if !ok {
		return nil, fmt.Errorf("%s is no method", d.FullName())
	}
	return m, nil
}
