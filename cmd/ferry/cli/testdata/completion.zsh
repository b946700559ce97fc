#compdef ferry
# Completion of ferry for zsh.
_ferry() {
	local -a verbs=(
		'run:Run a node.'
		'check:Validate a configuration.'
		'doctor:Say what is wrong on this machine for running a node.'
		'diff:Show what a reload of a configuration would do.'
		'top:Show a node live in the terminal.'
		'admin:Show and change a running node: log level, endpoints, connections, profiles.'
		'upgrade:Replace the process of a running node, without refusing a connection.'
		'schema:Print the JSON Schema of a configuration.'
		'passwd:Set the password of an MQTT user.'
		'backup:Save streams and data directory of a node while it runs.'
		'restore:Make a data directory from a backup.'
		'pub:Publish the messages on standard input.'
		'sub:Print messages as they arrive.'
		'stream:Show and change the stored streams.'
		'new:Make the folder of a new function.'
		'deploy:Put a function on a running node.'
		'dev:Build and run a function, again on each save.'
		'call:Call a method of a service.'
		'load:Generate load, and measure how long requests take.'
		'get:Print one field of a message.'
		'set:Change one field of a message.'
		'convert:Rewrite a message in another format.'
		'conformance:Prove an implementation of the native wire.'
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
			'(-h --help)'{-h,--help}'[Show this help.]' \
			'(-q --quiet)'{-q,--quiet}'[Print only errors on standard error, no notes.]' \
			'(-c --config)'{-c,--config=}'[The configuration, YAML. Without it, the node uses defaults, with this machine’s sensors as live input.]:FILE:_files'
		;;
	check)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this help.]' \
			'(-q --quiet)'{-q,--quiet}'[Print only errors on standard error, no notes.]' \
			'(-c --config)'{-c,--config=}'[The configuration of a node, YAML.]:FILE:_files' \
			'--resolved''[Print the configuration that counts, with included files, values of ${...} and defaults, without secrets.]' \
			'(-o --output)'{-o,--output=}'[text or json.]:FORMAT:(text json)'
		;;
	doctor)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this help.]' \
			'(-q --quiet)'{-q,--quiet}'[Print only errors on standard error, no notes.]' \
			'(-a --admin)'{-a,--admin=}'[The same as the argument.]:URL:_files' \
			'(-c --config)'{-c,--config=}'[The configuration of a node, YAML. Without it, what ferry run does.]:FILE:_files' \
			'--dial''[Connect to the servers that the configuration names, upstreams, links, bridges and the engine.]' \
			'--all''[Print what is fine, too, and what was not checked.]' \
			'(-o --output)'{-o,--output=}'[text or json.]:FORMAT:(text json)' \
			'--admin-token-file=''[The file with the token of the admin server. The default is token in the data directory.]:FILE:_files' \
			'--ca=''[The CA certificate to trust. The default is ca.pem in the data directory.]:FILE:_files' \
			'--data-dir=''[The data directory of a node on this machine. The default is ./ferry-data.]:DIR:_files' \
			':admin:_files'
		;;
	diff)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this help.]' \
			'(-q --quiet)'{-q,--quiet}'[Print only errors on standard error, no notes.]' \
			'(-c --config)'{-c,--config=}'[The configuration that the node would run.]:FILE:_files' \
			'(-o --output)'{-o,--output=}'[text or json.]:FORMAT:(text json)' \
			'(-a --admin)'{-a,--admin=}'[The same as the argument.]:URL:_files' \
			'--admin-token-file=''[The file with the token of the admin server. The default is token in the data directory.]:FILE:_files' \
			'--ca=''[The CA certificate to trust. The default is ca.pem in the data directory.]:FILE:_files' \
			'--data-dir=''[The data directory of a node on this machine. The default is ./ferry-data.]:DIR:_files' \
			':admin:_files'
		;;
	top)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this help.]' \
			'(-q --quiet)'{-q,--quiet}'[Print only errors on standard error, no notes.]' \
			'--interval=''[How often the view is updated. The default is 1s.]:TIME:_files' \
			'(-o --output)'{-o,--output=}'[text (the view) or json (the counters of this moment, once).]:FORMAT:(text json)' \
			'(-a --admin)'{-a,--admin=}'[The same as the argument.]:URL:_files' \
			'--admin-token-file=''[The file with the token of the admin server. The default is token in the data directory.]:FILE:_files' \
			'--ca=''[The CA certificate to trust. The default is ca.pem in the data directory.]:FILE:_files' \
			'--data-dir=''[The data directory of a node on this machine. The default is ./ferry-data.]:DIR:_files' \
			':admin:_files'
		;;
	admin)
		verbs=(
			'log-level:Show or change the level of the node'\''s log.'
			'endpoints:List the endpoints of the proxy.'
			'endpoint:Drain an endpoint, or change its weight.'
			'connections:List the clients that are connected.'
			'close:Close the connection of a client.'
			'config:Print the configuration that the node runs, without secrets.'
			'profile:Take a profile of the node, for go tool pprof or go tool trace.'
		)
		if (( CURRENT == 2 )); then
			_describe verb verbs
			return
		fi
		shift words
		(( CURRENT-- ))
		case $words[1] in
		log-level)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this help.]' \
			'(-q --quiet)'{-q,--quiet}'[Print only errors on standard error, no notes.]' \
			'(-a --admin)'{-a,--admin=}'[The admin server of the node. The default is http,//127.0.0.1,4195.]:URL:_files' \
			'--admin-token-file=''[The file with the token of the admin server. The default is token in the data directory.]:FILE:_files' \
			'--ca=''[The CA certificate to trust. The default is ca.pem in the data directory.]:FILE:_files' \
			'--data-dir=''[The data directory of a node on this machine. The default is ./ferry-data.]:DIR:_files' \
			'(-o --output)'{-o,--output=}'[text or json.]:FORMAT:(text json)' \
			'--for=''[After this time, the level is that of the configuration again, 10m.]:TIME:_files' \
			':level:(debug info warn error)'
		;;
		endpoints)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this help.]' \
			'(-q --quiet)'{-q,--quiet}'[Print only errors on standard error, no notes.]' \
			'(-a --admin)'{-a,--admin=}'[The admin server of the node. The default is http,//127.0.0.1,4195.]:URL:_files' \
			'--admin-token-file=''[The file with the token of the admin server. The default is token in the data directory.]:FILE:_files' \
			'--ca=''[The CA certificate to trust. The default is ca.pem in the data directory.]:FILE:_files' \
			'--data-dir=''[The data directory of a node on this machine. The default is ./ferry-data.]:DIR:_files' \
			'(-o --output)'{-o,--output=}'[text or json.]:FORMAT:(text json)' \
			':cluster:_files'
		;;
		endpoint)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this help.]' \
			'(-q --quiet)'{-q,--quiet}'[Print only errors on standard error, no notes.]' \
			'(-a --admin)'{-a,--admin=}'[The admin server of the node. The default is http,//127.0.0.1,4195.]:URL:_files' \
			'--admin-token-file=''[The file with the token of the admin server. The default is token in the data directory.]:FILE:_files' \
			'--ca=''[The CA certificate to trust. The default is ca.pem in the data directory.]:FILE:_files' \
			'--data-dir=''[The data directory of a node on this machine. The default is ./ferry-data.]:DIR:_files' \
			'(-o --output)'{-o,--output=}'[text or json.]:FORMAT:(text json)' \
			':action:(drain undrain weight)' \
			':cluster:_files' \
			':address:_files' \
			':weight:_files'
		;;
		connections)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this help.]' \
			'(-q --quiet)'{-q,--quiet}'[Print only errors on standard error, no notes.]' \
			'(-a --admin)'{-a,--admin=}'[The admin server of the node. The default is http,//127.0.0.1,4195.]:URL:_files' \
			'--admin-token-file=''[The file with the token of the admin server. The default is token in the data directory.]:FILE:_files' \
			'--ca=''[The CA certificate to trust. The default is ca.pem in the data directory.]:FILE:_files' \
			'--data-dir=''[The data directory of a node on this machine. The default is ./ferry-data.]:DIR:_files' \
			'(-o --output)'{-o,--output=}'[text or json.]:FORMAT:(text json)' \
			'--protocol=''[Only clients of this protocol, quic, tcp, mqtt, http1 ... node stands for the node’s own clients.]:NAME:_files' \
			'--listener=''[Only clients of the listener of this name or address.]:NAME:_files' \
			'--identity=''[Only clients of this identity, or with a certificate of this name.]:NAME:_files' \
			'--limit=''[The longest list, up to 10000. The default is 100.]:N:_files' \
			':admin:_files'
		;;
		close)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this help.]' \
			'(-q --quiet)'{-q,--quiet}'[Print only errors on standard error, no notes.]' \
			'(-a --admin)'{-a,--admin=}'[The admin server of the node. The default is http,//127.0.0.1,4195.]:URL:_files' \
			'--admin-token-file=''[The file with the token of the admin server. The default is token in the data directory.]:FILE:_files' \
			'--ca=''[The CA certificate to trust. The default is ca.pem in the data directory.]:FILE:_files' \
			'--data-dir=''[The data directory of a node on this machine. The default is ./ferry-data.]:DIR:_files' \
			'(-o --output)'{-o,--output=}'[text or json.]:FORMAT:(text json)' \
			':id:_files'
		;;
		config)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this help.]' \
			'(-q --quiet)'{-q,--quiet}'[Print only errors on standard error, no notes.]' \
			'(-a --admin)'{-a,--admin=}'[The admin server of the node. The default is http,//127.0.0.1,4195.]:URL:_files' \
			'--admin-token-file=''[The file with the token of the admin server. The default is token in the data directory.]:FILE:_files' \
			'--ca=''[The CA certificate to trust. The default is ca.pem in the data directory.]:FILE:_files' \
			'--data-dir=''[The data directory of a node on this machine. The default is ./ferry-data.]:DIR:_files' \
			'(-o --output)'{-o,--output=}'[text or json.]:FORMAT:(text json)' \
			':admin:_files'
		;;
		profile)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this help.]' \
			'(-q --quiet)'{-q,--quiet}'[Print only errors on standard error, no notes.]' \
			'(-a --admin)'{-a,--admin=}'[The admin server of the node. The default is http,//127.0.0.1,4195.]:URL:_files' \
			'--admin-token-file=''[The file with the token of the admin server. The default is token in the data directory.]:FILE:_files' \
			'--ca=''[The CA certificate to trust. The default is ca.pem in the data directory.]:FILE:_files' \
			'--data-dir=''[The data directory of a node on this machine. The default is ./ferry-data.]:DIR:_files' \
			'--seconds=''[How long to measure, up to 300. The default is 10 for cpu, block and mutex, and 3 for trace. heap and goroutine are of the moment.]:N:_files' \
			':kind:(cpu heap goroutine mutex block trace)' \
			':file:_files'
		;;
		esac
		;;
	upgrade)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this help.]' \
			'(-q --quiet)'{-q,--quiet}'[Print only errors on standard error, no notes.]' \
			'(-a --admin)'{-a,--admin=}'[The same as the argument.]:URL:_files' \
			'--admin-token-file=''[The file with the token of the admin server. The default is token in the data directory.]:FILE:_files' \
			'--ca=''[The CA certificate to trust. The default is ca.pem in the data directory.]:FILE:_files' \
			'--data-dir=''[The data directory of a node on this machine. The default is ./ferry-data.]:DIR:_files' \
			':admin:_files'
		;;
	schema)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this help.]' \
			'(-q --quiet)'{-q,--quiet}'[Print only errors on standard error, no notes.]'
		;;
	passwd)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this help.]' \
			'(-q --quiet)'{-q,--quiet}'[Print only errors on standard error, no notes.]' \
			'(-D --delete)'{-D,--delete}'[Remove the user from the file.]' \
			':file:_files' \
			':user:_files'
		;;
	backup)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this help.]' \
			'(-q --quiet)'{-q,--quiet}'[Print only errors on standard error, no notes.]' \
			'(-a --admin)'{-a,--admin=}'[The admin server of the node. The default is http,//127.0.0.1,4195.]:URL:_files' \
			'--admin-token-file=''[The file with the token of the admin server. The default is token in the data directory.]:FILE:_files' \
			'--ca=''[The CA certificate to trust. The default is ca.pem in the data directory.]:FILE:_files' \
			'--data-dir=''[The data directory of a node on this machine. The default is ./ferry-data.]:DIR:_files' \
			':file:_files'
		;;
	restore)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this help.]' \
			'(-q --quiet)'{-q,--quiet}'[Print only errors on standard error, no notes.]' \
			'--data-dir=''[The data directory to make. It must not exist, or be empty. The default is ./ferry-data.]:DIR:_files' \
			'--as-new-node''[Make another node of it, the data directory gets an id of its own. Links between nodes drop the messages of two nodes with one id.]' \
			':file:_files'
		;;
	pub)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this help.]' \
			'(-q --quiet)'{-q,--quiet}'[Print only errors on standard error, no notes.]' \
			'(-a --addr)'{-a,--addr=}'[The node, quic,//HOST,PORT, tls,//HOST,PORT, tcp,//HOST,PORT, unix,//PATH, wss,//HOST,PORT/PATH, ws,//HOST,PORT/PATH, grpcs,//HOST,PORT or grpc,//HOST,PORT. The default is quic,//127.0.0.1,4190.]:ADDR:_files' \
			'--ca=''[The CA certificate to trust. The default is ca.pem in the data directory.]:FILE:_files' \
			'--token-file=''[The file with the token. The default is token in the data directory.]:FILE:_files' \
			'--data-dir=''[The data directory of a node on this machine. The default is ./ferry-data.]:DIR:_files' \
			'(-t --type)'{-t,--type=}'[The type of the messages, cbor, json, y3, y3n, bson, msgpack, protobuf, or raw for any bytes; by default ferry guesses.]:TYPE:(raw cbor json y3 y3n bson msgpack protobuf)' \
			'--ack''[Wait until the node has routed all messages, and has stored those of stored streams. Fail if it drops one.]' \
			'--max=''[Refuse larger messages. The default is 64MiB; the node has its own limit.]:SIZE:_files' \
			'--spool=''[Keep each message in this directory until the node has it, also while the node is away, and after a crash of this command.]:DIR:_files' \
			'--spool-max=''[With --spool, read no more of standard input while so much is kept. The default is 1GiB.]:SIZE:_files' \
			':tag:_files'
		;;
	sub)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this help.]' \
			'(-q --quiet)'{-q,--quiet}'[Print only errors on standard error, no notes.]' \
			'(-a --addr)'{-a,--addr=}'[The node, quic,//HOST,PORT, tls,//HOST,PORT, tcp,//HOST,PORT, unix,//PATH, wss,//HOST,PORT/PATH, ws,//HOST,PORT/PATH, grpcs,//HOST,PORT or grpc,//HOST,PORT. The default is quic,//127.0.0.1,4190.]:ADDR:_files' \
			'--ca=''[The CA certificate to trust. The default is ca.pem in the data directory.]:FILE:_files' \
			'--token-file=''[The file with the token. The default is token in the data directory.]:FILE:_files' \
			'--data-dir=''[The data directory of a node on this machine. The default is ./ferry-data.]:DIR:_files' \
			'--where=''[Only messages that match this predicate, such as ’readings.0.value > 30’. The node evaluates it.]:PRED:_files' \
			'--from=''[Read a stored stream, from the first record, a sequence number, a time such as 2026-11-22T10,00,00Z, or how long ago, such as 10m. Then print what comes.]:START:_files' \
			'--durable=''[Continue where the last command with this name ended, and share the messages with all clients of the name. Each message is done once it is printed. --from counts for a new name.]:NAME:_files' \
			'--policy=''[If ferry sub is slower than the publishers, block (they wait), drop-oldest or drop-newest. Stored messages always wait.]:POLICY:(block drop-oldest drop-newest)' \
			'--schema=''[Names and types for y3 and protobuf, a hint file (JSON), or with --message a protobuf descriptor set.]:FILE:_files' \
			'--message=''[The message type in the descriptor set, pkg.Name.]:NAME:_files' \
			'(-n --count)'{-n,--count=}'[Exit after N messages.]:N:_files' \
			'(-o --output)'{-o,--output=}'[json (one line of JSON per message) or raw (the payload; a JSON payload is followed by a newline).]:FORMAT:(json raw)' \
			'*:tag:_files'
		;;
	stream)
		verbs=(
			'ls:List the stored streams.'
			'info:Print the state of a stream and its durables.'
			'purge:Remove records of a stream.'
			'copy:Copy a stream to another engine.'
			'rm:Remove a stream from a node that does not run.'
			'rm-durable:Remove a durable and its position.'
			'reset-durable:Move the position of a durable.'
			'verify:Look for damage in the streams of a node that does not run.'
			'replay-dead-letters:Publish dead letters again.'
		)
		if (( CURRENT == 2 )); then
			_describe verb verbs
			return
		fi
		shift words
		(( CURRENT-- ))
		case $words[1] in
		ls)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this help.]' \
			'(-q --quiet)'{-q,--quiet}'[Print only errors on standard error, no notes.]' \
			'(-a --admin)'{-a,--admin=}'[The admin server of the node. The default is http,//127.0.0.1,4195.]:URL:_files' \
			'--admin-token-file=''[The file with the token of the admin server. The default is token in the data directory.]:FILE:_files' \
			'--ca=''[The CA certificate to trust. The default is ca.pem in the data directory.]:FILE:_files' \
			'--data-dir=''[The data directory of a node on this machine. The default is ./ferry-data.]:DIR:_files' \
			'(-o --output)'{-o,--output=}'[text or json.]:FORMAT:(text json)'
		;;
		info)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this help.]' \
			'(-q --quiet)'{-q,--quiet}'[Print only errors on standard error, no notes.]' \
			'(-a --admin)'{-a,--admin=}'[The admin server of the node. The default is http,//127.0.0.1,4195.]:URL:_files' \
			'--admin-token-file=''[The file with the token of the admin server. The default is token in the data directory.]:FILE:_files' \
			'--ca=''[The CA certificate to trust. The default is ca.pem in the data directory.]:FILE:_files' \
			'--data-dir=''[The data directory of a node on this machine. The default is ./ferry-data.]:DIR:_files' \
			'(-o --output)'{-o,--output=}'[text or json.]:FORMAT:(text json)' \
			':name:_files'
		;;
		purge)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this help.]' \
			'(-q --quiet)'{-q,--quiet}'[Print only errors on standard error, no notes.]' \
			'(-a --admin)'{-a,--admin=}'[The admin server of the node. The default is http,//127.0.0.1,4195.]:URL:_files' \
			'--admin-token-file=''[The file with the token of the admin server. The default is token in the data directory.]:FILE:_files' \
			'--ca=''[The CA certificate to trust. The default is ca.pem in the data directory.]:FILE:_files' \
			'--data-dir=''[The data directory of a node on this machine. The default is ./ferry-data.]:DIR:_files' \
			'(-o --output)'{-o,--output=}'[text or json.]:FORMAT:(text json)' \
			'--tags=''[Only records with matching tags, such as orders/+/canceled.]:FILTER:_files' \
			'--before=''[Only records with sequence numbers below SEQ.]:SEQ:_files' \
			':name:_files'
		;;
		copy)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this help.]' \
			'(-q --quiet)'{-q,--quiet}'[Print only errors on standard error, no notes.]' \
			'(-a --admin)'{-a,--admin=}'[The admin server of the node. The default is http,//127.0.0.1,4195.]:URL:_files' \
			'--admin-token-file=''[The file with the token of the admin server. The default is token in the data directory.]:FILE:_files' \
			'--ca=''[The CA certificate to trust. The default is ca.pem in the data directory.]:FILE:_files' \
			'--data-dir=''[The data directory of a node on this machine. The default is ./ferry-data.]:DIR:_files' \
			'--from=''[The engine that has the stream, nats,//HOST,PORT or tls,//HOST,PORT, with commas between several servers. The default is that of a running node.]:ADDR:_files' \
			'--from-dir=''[Read the stream from the data directory of a node that does not run, instead of from a running node.]:DIR:_files' \
			'--to=''[The engine that gets the stream, as with --from.]:ADDR:_files' \
			'--to-dir=''[Write the stream to the data directory of a node that does not run.]:DIR:_files' \
			'--credentials-file=''[The .creds file of the account at the engines of --from and --to.]:FILE:_files' \
			'--engine-ca=''[The CA certificate of these engines.]:FILE:_files' \
			':name:_files'
		;;
		rm)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this help.]' \
			'(-q --quiet)'{-q,--quiet}'[Print only errors on standard error, no notes.]' \
			'--data-dir=''[The data directory of the node, which does not run. The default is ./ferry-data.]:DIR:_files' \
			':name:_files'
		;;
		rm-durable)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this help.]' \
			'(-q --quiet)'{-q,--quiet}'[Print only errors on standard error, no notes.]' \
			'(-a --admin)'{-a,--admin=}'[The admin server of the node. The default is http,//127.0.0.1,4195.]:URL:_files' \
			'--admin-token-file=''[The file with the token of the admin server. The default is token in the data directory.]:FILE:_files' \
			'--ca=''[The CA certificate to trust. The default is ca.pem in the data directory.]:FILE:_files' \
			'--data-dir=''[The data directory of a node on this machine. The default is ./ferry-data.]:DIR:_files' \
			'(-o --output)'{-o,--output=}'[text or json.]:FORMAT:(text json)' \
			':name:_files' \
			':durable:_files'
		;;
		reset-durable)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this help.]' \
			'(-q --quiet)'{-q,--quiet}'[Print only errors on standard error, no notes.]' \
			'(-a --admin)'{-a,--admin=}'[The admin server of the node. The default is http,//127.0.0.1,4195.]:URL:_files' \
			'--admin-token-file=''[The file with the token of the admin server. The default is token in the data directory.]:FILE:_files' \
			'--ca=''[The CA certificate to trust. The default is ca.pem in the data directory.]:FILE:_files' \
			'--data-dir=''[The data directory of a node on this machine. The default is ./ferry-data.]:DIR:_files' \
			'(-o --output)'{-o,--output=}'[text or json.]:FORMAT:(text json)' \
			':name:_files' \
			':durable:_files' \
			':from:_files'
		;;
		verify)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this help.]' \
			'(-q --quiet)'{-q,--quiet}'[Print only errors on standard error, no notes.]' \
			'(-o --output)'{-o,--output=}'[text or json.]:FORMAT:(text json)' \
			':data-dir:_files'
		;;
		replay-dead-letters)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this help.]' \
			'(-q --quiet)'{-q,--quiet}'[Print only errors on standard error, no notes.]' \
			'(-a --admin)'{-a,--admin=}'[The admin server of the node. The default is http,//127.0.0.1,4195.]:URL:_files' \
			'--admin-token-file=''[The file with the token of the admin server. The default is token in the data directory.]:FILE:_files' \
			'--ca=''[The CA certificate to trust. The default is ca.pem in the data directory.]:FILE:_files' \
			'--data-dir=''[The data directory of a node on this machine. The default is ./ferry-data.]:DIR:_files' \
			'(-o --output)'{-o,--output=}'[text or json.]:FORMAT:(text json)' \
			'--sequence=''[Only the dead letters with these sequence numbers. May be given more than once.]:SEQ,...:_files' \
			':name:_files'
		;;
		esac
		;;
	new)
		verbs=(
			'function:Make the folder of a function, with a test.'
		)
		if (( CURRENT == 2 )); then
			_describe verb verbs
			return
		fi
		shift words
		(( CURRENT-- ))
		case $words[1] in
		function)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this help.]' \
			'(-q --quiet)'{-q,--quiet}'[Print only errors on standard error, no notes.]' \
			'--lang=''[go, javascript, python or rust.]:LANG:(go javascript python rust)' \
			':name:_files'
		;;
		esac
		;;
	deploy)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this help.]' \
			'(-q --quiet)'{-q,--quiet}'[Print only errors on standard error, no notes.]' \
			'(-a --addr)'{-a,--addr=}'[The node, quic,//HOST,PORT, tls,//HOST,PORT, tcp,//HOST,PORT, unix,//PATH, wss,//HOST,PORT/PATH, ws,//HOST,PORT/PATH, grpcs,//HOST,PORT or grpc,//HOST,PORT. The default is quic,//127.0.0.1,4190.]:ADDR:_files' \
			'--ca=''[The CA certificate to trust. The default is ca.pem in the data directory.]:FILE:_files' \
			'--token-file=''[The file with the token. The default is token in the data directory.]:FILE:_files' \
			'--data-dir=''[The data directory of a node on this machine. The default is ./ferry-data.]:DIR:_files' \
			'--observe=''[Tags whose messages it gets; + and # are wildcards. May be given more than once. Needed for a new function; a further version keeps what it has, with all flags below, unless this flag is given.]:TAG:_files' \
			'--where=''[Only messages for which this predicate holds.]:PRED:_files' \
			'--group=''[A consumer group, one of its members gets each message.]:NAME:_files' \
			'--durable=''[Consume a stream under this name, each message until it is handled without an error.]:NAME:_files' \
			'--from=''[Where a new durable begins, first, new, a sequence number or a time.]:PLACE:_files' \
			'--cpu=''[heavy, on a token of the node’s pool, or light. The default is heavy.]:CLASS:(heavy light)' \
			'--timeout=''[How long a message may take. The default is 1s.]:TIME:_files' \
			'--memory=''[The memory of one instance. The default is 16MiB.]:SIZE:_files' \
			'--concurrency=''[How many messages it handles at once, each in an instance of its own. The default is 4.]:N:_files' \
			'--list''[List what is deployed.]' \
			'--rollback=''[Put the version before the one in use in its place.]:NAME:_files' \
			'--remove=''[Stop a function and remove all its versions.]:NAME:_files' \
			'(-o --output)'{-o,--output=}'[text or json.]:FORMAT:(text json)' \
			':name:_files' \
			':file:_files'
		;;
	dev)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this help.]' \
			'(-q --quiet)'{-q,--quiet}'[Print only errors on standard error, no notes.]' \
			'--listen=''[Where the node listens, quic,//HOST,PORT, tls,//HOST,PORT, tcp,//HOST,PORT, unix,//PATH, wss,//HOST,PORT/PATH, ws,//HOST,PORT/PATH, grpcs,//HOST,PORT or grpc,//HOST,PORT. The default is tcp,//127.0.0.1,4190.]:ADDR:_files' \
			':dir:_files'
		;;
	call)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this help.]' \
			'(-q --quiet)'{-q,--quiet}'[Print only errors on standard error, no notes.]' \
			'--ca=''[The CA certificate to trust. The default is ca.pem in the data directory, or else the system’s.]:FILE:_files' \
			'--data-dir=''[The data directory of a node on this machine. The default is ./ferry-data.]:DIR:_files' \
			'--cert=''[The file with the client certificate, in PEM, for a server that requires one.]:FILE:_files' \
			'--key=''[The file with the key of --cert.]:FILE:_files' \
			'--token-file=''[The file with the token, for a server that requires one. Only for the protocol rpc.]:FILE:_files' \
			'--protocol=''[rpc (ferry’s own), grpc or http. By default the address tells; with this flag its scheme is only the transport.]:NAME:(rpc grpc http)' \
			'--content=''[The content type of the messages, such as json or application/cbor. The default is application/json, and application/protobuf for gRPC.]:TYPE:_files' \
			'--schema=''[A protobuf descriptor set that has the service, the types of messages in protobuf and y3. Without it, the reflection of a gRPC server tells them.]:FILE:_files' \
			'--compression=''[Compress the messages with gzip or zstd. The default is not to.]:NAME:(gzip zstd)' \
			'--metadata=''[Metadata of the call. May be given more than once.]:NAME=VALUE:_files' \
			'--timeout=''[How long the call may take. The default is 10s.]:TIME:_files' \
			'(-o --output)'{-o,--output=}'[text prints the response. json prints one object, with the status and the metadata.]:FORMAT:(text json)' \
			':addr:_files' \
			':method:_files' \
			':json:_files'
		;;
	load)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this help.]' \
			'(-q --quiet)'{-q,--quiet}'[Print only errors on standard error, no notes.]' \
			'(-r --rate)'{-r,--rate=}'[Open loop, N requests a second, whatever the server does. Without it, a closed loop.]:N:_files' \
			'--constant''[With --rate, all gaps between requests are equal. The default is a Poisson process.]' \
			'--closed''[Closed loop, each worker sends the next request when its last one is complete. The default without --rate.]' \
			'(-c --workers)'{-c,--workers=}'[At most N requests at a time. The default is 100.]:N:_files' \
			'--conns=''[The connections of calls and of HTTP/2, which the workers share. The default is 4. Otherwise each worker has its own.]:N:_files' \
			'(-n --requests)'{-n,--requests=}'[Stop after N requests.]:N:_files' \
			'(-t --duration)'{-t,--duration=}'[Stop after this time. The default is 10s, or no limit with -n.]:TIME:_files' \
			'--warm-up=''[Send requests for this time before they are measured.]:TIME:_files' \
			'--max-late=''[With --rate, the run is void if the 99th percentile of ferry load’s own lateness is above it. The default is 1ms.]:TIME:_files' \
			'--timeout=''[How long a request may take. The default is 10s.]:TIME:_files' \
			'(-m --method)'{-m,--method=}'[Call this method, such as greeter.Greeter.Hello.]:SERVICE.METHOD:_files' \
			'--content=''[The content type of calls, such as cbor or application/cbor. The default is application/json, and application/protobuf with grpc,//. With --matrix a list with commas, or all.]:TYPE:_files' \
			'--schema=''[A protobuf descriptor set that has the service, the types of messages in protobuf and y3. Without it, the reflection of a gRPC server tells them.]:FILE:_files' \
			'--metadata=''[Metadata of calls. May be given more than once.]:NAME=VALUE:_files' \
			'--matrix''[Measure cells of transport, server and content type, each with a server and a client that are processes of this program.]' \
			'--transport=''[With --matrix, the transports, such as tcp,quic. The default is all.]:LIST:_files' \
			'--server=''[With --matrix, the servers, of rpc, grpc and http. The default is all.]:LIST:_files' \
			'--pub=''[Publish messages on this tag of a node. Each one is confirmed by the node.]:TAG:_files' \
			'--http2''[HTTP/2 instead of HTTP/1.1, by TLS for https,//, with prior knowledge for http,//. The workers share --conns connections.]' \
			'--dialect=''[The dialect of bolt,//, v1, v2 or v2crc. The default is v1.]:NAME:(v1 v2 v2crc)' \
			'(-X --verb)'{-X,--verb=}'[The verb of HTTP requests. The default is GET, and POST with a body.]:VERB:_files' \
			'(-H --header)'{-H,--header=}'[A field of HTTP requests, or an entry of the header of bolt,//. May be given more than once.]:NAME,VALUE:_files' \
			'--expect=''[The status that HTTP responses must have. The default is any from 200 to 299.]:STATUS:_files' \
			'(-d --data)'{-d,--data=}'[The payload. Of calls it is JSON, which is written in their content type.]:TEXT:_files' \
			'--file=''[The file with the payload, which is sent as it stands.]:FILE:_files' \
			'--size=''[A payload of N bytes.]:N:_files' \
			'--ca=''[The CA certificate to trust. The default is ca.pem in the data directory, or else the system’s.]:FILE:_files' \
			'--data-dir=''[The data directory of a node on this machine. The default is ./ferry-data.]:DIR:_files' \
			'--token-file=''[The file with the token, for a server that requires one. Not with grpc,// and http,//. With --pub, the default is token in the data directory.]:FILE:_files' \
			'(-o --output)'{-o,--output=}'[text prints figures and a plot. json prints one object.]:FORMAT:(text json)' \
			'--svg=''[Write the latencies by percentile to FILE, as a picture.]:FILE:_files' \
			':addr:_files'
		;;
	get)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this help.]' \
			'(-q --quiet)'{-q,--quiet}'[Print only errors on standard error, no notes.]' \
			'(-t --type)'{-t,--type=}'[The type of the message, cbor, json, y3, y3n, bson, msgpack, protobuf. By default ferry guesses.]:TYPE:(cbor json y3 y3n bson msgpack protobuf)' \
			'--as=''[Read the value as int32, uint32, int64, uint64, float32, float64, string, bool, bytes; for y3 and protobuf, whose bytes have no types.]:T:(int32 uint32 int64 uint64 float32 float64 string bool bytes)' \
			'(-o --output)'{-o,--output=}'[text (the bare value) or json.]:FORMAT:(text json)' \
			'--schema=''[Names and types for y3 and protobuf, a hint file (JSON), or with --message a protobuf descriptor set.]:FILE:_files' \
			'--message=''[The message type in the descriptor set, pkg.Name.]:NAME:_files' \
			'--max=''[Refuse a larger message. The default is 64MiB.]:SIZE:_files' \
			':path:_files' \
			':file:_files'
		;;
	set)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this help.]' \
			'(-q --quiet)'{-q,--quiet}'[Print only errors on standard error, no notes.]' \
			'(-t --type)'{-t,--type=}'[The type of the message, cbor, json, y3, y3n, bson, msgpack, protobuf. By default ferry guesses.]:TYPE:(cbor json y3 y3n bson msgpack protobuf)' \
			'--as=''[VALUE is int32, uint32, int64, uint64, float32, float64, string, bool, bytes; for y3 and protobuf, whose bytes have no types.]:T:(int32 uint32 int64 uint64 float32 float64 string bool bytes)' \
			'--schema=''[Names and types for y3 and protobuf, a hint file (JSON), or with --message a protobuf descriptor set.]:FILE:_files' \
			'--message=''[The message type in the descriptor set, pkg.Name.]:NAME:_files' \
			'--max=''[Refuse a larger message. The default is 64MiB.]:SIZE:_files' \
			':path=value:_files' \
			':file:_files'
		;;
	convert)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this help.]' \
			'(-q --quiet)'{-q,--quiet}'[Print only errors on standard error, no notes.]' \
			'--from=''[The type of the message, cbor, json, y3, y3n, bson, msgpack, protobuf. By default ferry guesses.]:TYPE:(cbor json y3 y3n bson msgpack protobuf)' \
			'--to=''[The type to convert it to, cbor, json, y3, y3n, bson, msgpack, protobuf.]:TYPE:(cbor json y3 y3n bson msgpack protobuf)' \
			'--schema=''[Names and types for y3 and protobuf, a hint file (JSON), or with --message a protobuf descriptor set.]:FILE:_files' \
			'--message=''[The message type in the descriptor set, pkg.Name.]:NAME:_files' \
			'--max=''[Refuse a larger message. The default is 64MiB.]:SIZE:_files' \
			':file:_files'
		;;
	conformance)
		verbs=(
			'client:Prove a client, which a driver program wraps.'
			'node:Prove a running node.'
		)
		if (( CURRENT == 2 )); then
			_describe verb verbs
			return
		fi
		shift words
		(( CURRENT-- ))
		case $words[1] in
		client)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this help.]' \
			'(-q --quiet)'{-q,--quiet}'[Print only errors on standard error, no notes.]' \
			'--run=''[Only the cases whose name matches this regular expression, such as ’^credit/’.]:PATTERN:_files' \
			'--timeout=''[The longest time that a case may take. The default is 10s.]:TIME:_files' \
			'(-o --output)'{-o,--output=}'[text or json (one line of JSON per case).]:FORMAT:(text json)' \
			'*:command:_files'
		;;
		node)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this help.]' \
			'(-q --quiet)'{-q,--quiet}'[Print only errors on standard error, no notes.]' \
			'--run=''[Only the cases whose name matches this regular expression, such as ’^credit/’.]:PATTERN:_files' \
			'--timeout=''[The longest time that a case may take. The default is 10s.]:TIME:_files' \
			'(-o --output)'{-o,--output=}'[text or json (one line of JSON per case).]:FORMAT:(text json)' \
			'--ca=''[The CA certificate to trust, for tls. The default is ca.pem in the data directory.]:FILE:_files' \
			'--token-file=''[The file with the token. The default is token in the data directory.]:FILE:_files' \
			'--data-dir=''[The data directory of a node on this machine. The default is ./ferry-data.]:DIR:_files' \
			'--tags=''[The prefix of tags that the node does not store. The default is conformance.]:PREFIX:_files' \
			'--stored=''[The prefix of tags that the node stores at least once, all in one stream. Without it, the cases about stored streams are skipped.]:PREFIX:_files' \
			'--forbidden=''[A tag that the identity may neither publish on nor subscribe to. Without it, the cases about it are skipped.]:TAG:_files' \
			':addr:_files'
		;;
		esac
		;;
	completion)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this help.]' \
			'(-q --quiet)'{-q,--quiet}'[Print only errors on standard error, no notes.]' \
			':shell:(bash zsh fish)'
		;;
	version)
		_arguments -s \
			'(-h --help)'{-h,--help}'[Show this help.]' \
			'(-q --quiet)'{-q,--quiet}'[Print only errors on standard error, no notes.]' \
			'(-o --output)'{-o,--output=}'[text or json.]:FORMAT:(text json)'
		;;
	esac
}
if [[ $funcstack[1] == _ferry ]]; then
	_ferry "$@"
else
	compdef _ferry ferry
fi
