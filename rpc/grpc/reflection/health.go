package reflection

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

// healthService is the service that every rpc.Server has. Its types there are plain structs, so its file is written here.
const healthService = "grpc.health.v1.Health"

// healthFile returns grpc/health/v1/health.proto.
func healthFile() *descriptorpb.FileDescriptorProto {
	const in, out = ".grpc.health.v1.HealthCheckRequest", ".grpc.health.v1.HealthCheckResponse"
	status := &descriptorpb.EnumDescriptorProto{Name: proto.String("ServingStatus")}
	for i, name := range []string{"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"} {
		status.Value = append(status.Value, &descriptorpb.EnumValueDescriptorProto{Name: proto.String(name), Number: proto.Int32(int32(i))})
	}
	optional := descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()
	return &descriptorpb.FileDescriptorProto{
		Name: proto.String("grpc/health/v1/health.proto"), Package: proto.String("grpc.health.v1"), Syntax: proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{
			{Name: proto.String("HealthCheckRequest"), Field: []*descriptorpb.FieldDescriptorProto{{
				Name: proto.String("service"), Number: proto.Int32(1), Label: optional, Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(),
			}}},
			{
				Name: proto.String("HealthCheckResponse"), EnumType: []*descriptorpb.EnumDescriptorProto{status},
				Field: []*descriptorpb.FieldDescriptorProto{{
					Name: proto.String("status"), Number: proto.Int32(1), Label: optional, Type: descriptorpb.FieldDescriptorProto_TYPE_ENUM.Enum(),
					TypeName: proto.String(out + ".ServingStatus"),
				}},
			},
		},
		Service: []*descriptorpb.ServiceDescriptorProto{{
			Name: proto.String("Health"),
			Method: []*descriptorpb.MethodDescriptorProto{
				{Name: proto.String("Check"), InputType: proto.String(in), OutputType: proto.String(out)},
				{Name: proto.String("Watch"), InputType: proto.String(in), OutputType: proto.String(out), ServerStreaming: proto.Bool(true)},
			},
		}},
	}
}
