package rpcload

// Systems are all rows.
func Systems() []System {
	return append(ferrySystems(), mux(), arpcSystem(), grpcGo(), netRPC(), netHTTP(), quicGo(), kitexSystem(), rpcxSystem(), connectSystem(), drpcSystem())
}
