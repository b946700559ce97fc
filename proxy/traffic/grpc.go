package traffic

// grpcStatuses has the name of each gRPC status, and the HTTP status that means the same. The table is the one of
// Envoy, so outlier detection ejects the same servers.
var grpcStatuses = [...]struct {
	name string
	http int
}{
	0:  {"ok", 200},
	1:  {"cancelled", 499},
	2:  {"unknown", 500},
	3:  {"invalid_argument", 400},
	4:  {"deadline_exceeded", 504},
	5:  {"not_found", 404},
	6:  {"already_exists", 409},
	7:  {"permission_denied", 403},
	8:  {"resource_exhausted", 429},
	9:  {"failed_precondition", 400},
	10: {"aborted", 409},
	11: {"out_of_range", 400},
	12: {"unimplemented", 501},
	13: {"internal", 500},
	14: {"unavailable", 503},
	15: {"data_loss", 500},
	16: {"unauthenticated", 401},
}

// GRPCUnknown is the gRPC status of a response that has no valid one.
const GRPCUnknown = 2

// GRPC returns the Code of a gRPC status. A status that gRPC does not define counts as GRPCUnknown.
func GRPC(status int) Code {
	if status < 0 || status >= len(grpcStatuses) {
		status = GRPCUnknown
	}
	return grpcCode + Code(status)
}

// GRPCStatus returns the gRPC status that c stands for. ok is false if c is not the Code of a gRPC response.
func (c Code) GRPCStatus() (status int, ok bool) {
	if c < grpcCode || int(c) >= codes {
		return 0, false
	}
	return int(c - grpcCode), true
}

// grpcFailed reports whether the gRPC status of c means what an HTTP status of 500 or more means.
func (c Code) grpcFailed() bool {
	status, ok := c.GRPCStatus()
	return ok && grpcStatuses[status].http >= 500
}
