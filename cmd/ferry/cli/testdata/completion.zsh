#compdef ferry
# Completion of ferry for zsh.
_ferry() {
	local -a verbs=(
		'run:Run a node.'
		'check:Validate a configuration.'
		'schema:Print the JSON Schema of a configuration.'
		'pub:Publish what comes in on standard input.'
		'sub:Print messages as they come.'
		'get:Print one field of a message.'
		'set:Change one field of a message.'
		'convert:Rewrite a message in another format.'
		'completion:Print a completion script for your shell.'
		'version:Print the version.'
	)
	if (( CURRENT == 2 )); then
		_describe verb verbs
		return
	fi
	shift words
	(( CURRENT-- ))
	case $words[1] in
	run)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this.]' \
			'(-q --quiet)'{-q,--quiet}'[No remarks on standard error, only errors.]' \
			'(-c --config)'{-c,--config=}'[The configuration, YAML. Without it everything is embedded, and this machine’s sensors are live input.]:FILE:_files'
		;;
	check)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this.]' \
			'(-q --quiet)'{-q,--quiet}'[No remarks on standard error, only errors.]' \
			'(-c --config)'{-c,--config=}'[The configuration of a node, YAML.]:FILE:_files' \
			'(-o --output)'{-o,--output=}'[text or json.]:FORMAT:(text json)'
		;;
	schema)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this.]' \
			'(-q --quiet)'{-q,--quiet}'[No remarks on standard error, only errors.]'
		;;
	pub)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this.]' \
			'(-q --quiet)'{-q,--quiet}'[No remarks on standard error, only errors.]' \
			'(-a --addr)'{-a,--addr=}'[The node, quic,//HOST,PORT, tls,//HOST,PORT, tcp,//HOST,PORT or unix,//PATH; quic,//127.0.0.1,4190 if left out.]:ADDR:_files' \
			'--ca=''[The certificate to trust; ca.pem of the data directory if left out.]:FILE:_files' \
			'--token-file=''[Where the token is; token of the data directory if left out.]:FILE:_files' \
			'--data-dir=''[The data directory of a node on this machine, ./ferry-data if left out.]:DIR:_files' \
			'(-t --type)'{-t,--type=}'[What the messages are, cbor, json, y3, y3n, bson, msgpack, protobuf, or raw for any bytes; guessed if left out.]:TYPE:(raw cbor json y3 y3n bson msgpack protobuf)' \
			'--ack''[Wait until the node has taken all messages, and fail if it dropped one.]' \
			'--max=''[Refuse a larger message, 64MiB if not said otherwise; the node has a limit of its own.]:SIZE:_files' \
			':tag:_files'
		;;
	sub)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this.]' \
			'(-q --quiet)'{-q,--quiet}'[No remarks on standard error, only errors.]' \
			'(-a --addr)'{-a,--addr=}'[The node, quic,//HOST,PORT, tls,//HOST,PORT, tcp,//HOST,PORT or unix,//PATH; quic,//127.0.0.1,4190 if left out.]:ADDR:_files' \
			'--ca=''[The certificate to trust; ca.pem of the data directory if left out.]:FILE:_files' \
			'--token-file=''[Where the token is; token of the data directory if left out.]:FILE:_files' \
			'--data-dir=''[The data directory of a node on this machine, ./ferry-data if left out.]:DIR:_files' \
			'--where=''[Only messages for which this holds, tested at the node, ’readings.0.value > 30’.]:PRED:_files' \
			'--policy=''[When this end is slower than the sources, block (they wait), drop-oldest or drop-newest.]:POLICY:(block drop-oldest drop-newest)' \
			'--schema=''[Names and types for y3 and protobuf, a hint file (JSON), or with --message a descriptor set of protobuf.]:FILE:_files' \
			'--message=''[Which message of the descriptor set, pkg.Name.]:NAME:_files' \
			'(-n --count)'{-n,--count=}'[End after so many messages.]:N:_files' \
			'(-o --output)'{-o,--output=}'[json (a line of JSON a message) or raw (the bytes of the payload, and a newline behind one that is JSON).]:FORMAT:(json raw)' \
			':tag:_files'
		;;
	get)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this.]' \
			'(-q --quiet)'{-q,--quiet}'[No remarks on standard error, only errors.]' \
			'(-t --type)'{-t,--type=}'[What the message is, cbor, json, y3, y3n, bson, msgpack, protobuf; guessed if left out.]:TYPE:(cbor json y3 y3n bson msgpack protobuf)' \
			'--as=''[Read the value as int32, uint32, int64, uint64, float32, float64, string, bool, bytes; for y3 and protobuf, whose bytes carry no types.]:T:(int32 uint32 int64 uint64 float32 float64 string bool bytes)' \
			'(-o --output)'{-o,--output=}'[text (the bare value) or json.]:FORMAT:(text json)' \
			'--schema=''[Names and types for y3 and protobuf, a hint file (JSON), or with --message a descriptor set of protobuf.]:FILE:_files' \
			'--message=''[Which message of the descriptor set, pkg.Name.]:NAME:_files' \
			'--max=''[Refuse a larger message, 64MiB if not said otherwise.]:SIZE:_files' \
			':path:_files' \
			':file:_files'
		;;
	set)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this.]' \
			'(-q --quiet)'{-q,--quiet}'[No remarks on standard error, only errors.]' \
			'(-t --type)'{-t,--type=}'[What the message is, cbor, json, y3, y3n, bson, msgpack, protobuf; guessed if left out.]:TYPE:(cbor json y3 y3n bson msgpack protobuf)' \
			'--as=''[VALUE is int32, uint32, int64, uint64, float32, float64, string, bool, bytes; for y3 and protobuf, whose bytes carry no types.]:T:(int32 uint32 int64 uint64 float32 float64 string bool bytes)' \
			'--schema=''[Names and types for y3 and protobuf, a hint file (JSON), or with --message a descriptor set of protobuf.]:FILE:_files' \
			'--message=''[Which message of the descriptor set, pkg.Name.]:NAME:_files' \
			'--max=''[Refuse a larger message, 64MiB if not said otherwise.]:SIZE:_files' \
			':path=value:_files' \
			':file:_files'
		;;
	convert)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this.]' \
			'(-q --quiet)'{-q,--quiet}'[No remarks on standard error, only errors.]' \
			'--from=''[What the message is, cbor, json, y3, y3n, bson, msgpack, protobuf; guessed if left out.]:TYPE:(cbor json y3 y3n bson msgpack protobuf)' \
			'--to=''[What to make of it, cbor, json, y3, y3n, bson, msgpack, protobuf.]:TYPE:(cbor json y3 y3n bson msgpack protobuf)' \
			'--schema=''[Names and types for y3 and protobuf, a hint file (JSON), or with --message a descriptor set of protobuf.]:FILE:_files' \
			'--message=''[Which message of the descriptor set, pkg.Name.]:NAME:_files' \
			'--max=''[Refuse a larger message, 64MiB if not said otherwise.]:SIZE:_files' \
			':file:_files'
		;;
	completion)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this.]' \
			'(-q --quiet)'{-q,--quiet}'[No remarks on standard error, only errors.]' \
			':shell:(bash zsh fish)'
		;;
	version)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this.]' \
			'(-q --quiet)'{-q,--quiet}'[No remarks on standard error, only errors.]' \
			'(-o --output)'{-o,--output=}'[text or json.]:FORMAT:(text json)'
		;;
	esac
}
if [[ $funcstack[1] == _ferry ]]; then
	_ferry "$@"
else
	compdef _ferry ferry
fi
