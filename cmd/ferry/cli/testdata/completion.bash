# Completion of ferry for bash.
_ferry() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb= sub= word flags= words=
	if [[ $cur == = ]]; then
		cur=
	elif [[ $prev == = ]]; then
		prev=${COMP_WORDS[COMP_CWORD-2]}
	fi
	for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
		case $word in
		run|check|doctor|diff|top|admin|upgrade|schema|passwd|backup|restore|pub|sub|stream|new|deploy|dev|call|load|get|set|convert|conformance|completion|version) verb=$word; break ;;
		esac
	done
	case $verb in
	'') flags='--help --version' words='run check doctor diff top admin upgrade schema passwd backup restore pub sub stream new deploy dev call load get set convert conformance completion version' ;;
	run)
		flags='--help --quiet --config'
		case $prev in
		--config|-c) flags= words='' ;;
		esac ;;
	check)
		flags='--help --quiet --config --resolved --output'
		case $prev in
		--config|-c) flags= words='' ;;
		--output|-o) flags= words='text json' ;;
		esac ;;
	doctor)
		flags='--help --quiet --admin --config --dial --all --output --admin-token-file --ca --data-dir'
		case $prev in
		--admin|-a) flags= words='' ;;
		--config|-c) flags= words='' ;;
		--output|-o) flags= words='text json' ;;
		--admin-token-file) flags= words='' ;;
		--ca) flags= words='' ;;
		--data-dir) flags= words='' ;;
		esac ;;
	diff)
		flags='--help --quiet --config --output --admin --admin-token-file --ca --data-dir'
		case $prev in
		--config|-c) flags= words='' ;;
		--output|-o) flags= words='text json' ;;
		--admin|-a) flags= words='' ;;
		--admin-token-file) flags= words='' ;;
		--ca) flags= words='' ;;
		--data-dir) flags= words='' ;;
		esac ;;
	top)
		flags='--help --quiet --interval --output --admin --admin-token-file --ca --data-dir'
		case $prev in
		--interval) flags= words='' ;;
		--output|-o) flags= words='text json' ;;
		--admin|-a) flags= words='' ;;
		--admin-token-file) flags= words='' ;;
		--ca) flags= words='' ;;
		--data-dir) flags= words='' ;;
		esac ;;
	admin)
		for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
			case $word in
			log-level|endpoints|endpoint|connections|close|config|profile) sub=$word; break ;;
			esac
		done
		case $sub in
		'') flags='--help' words='log-level endpoints endpoint connections close config profile' ;;
		log-level)
		flags='--help --quiet --admin --admin-token-file --ca --data-dir --output --for'
		words='debug info warn error'
		case $prev in
		--admin|-a) flags= words='' ;;
		--admin-token-file) flags= words='' ;;
		--ca) flags= words='' ;;
		--data-dir) flags= words='' ;;
		--output|-o) flags= words='text json' ;;
		--for) flags= words='' ;;
		esac ;;
		endpoints)
		flags='--help --quiet --admin --admin-token-file --ca --data-dir --output'
		case $prev in
		--admin|-a) flags= words='' ;;
		--admin-token-file) flags= words='' ;;
		--ca) flags= words='' ;;
		--data-dir) flags= words='' ;;
		--output|-o) flags= words='text json' ;;
		esac ;;
		endpoint)
		flags='--help --quiet --admin --admin-token-file --ca --data-dir --output'
		words='drain undrain weight'
		case $prev in
		--admin|-a) flags= words='' ;;
		--admin-token-file) flags= words='' ;;
		--ca) flags= words='' ;;
		--data-dir) flags= words='' ;;
		--output|-o) flags= words='text json' ;;
		esac ;;
		connections)
		flags='--help --quiet --admin --admin-token-file --ca --data-dir --output --protocol --listener --identity --limit'
		case $prev in
		--admin|-a) flags= words='' ;;
		--admin-token-file) flags= words='' ;;
		--ca) flags= words='' ;;
		--data-dir) flags= words='' ;;
		--output|-o) flags= words='text json' ;;
		--protocol) flags= words='' ;;
		--listener) flags= words='' ;;
		--identity) flags= words='' ;;
		--limit) flags= words='' ;;
		esac ;;
		close)
		flags='--help --quiet --admin --admin-token-file --ca --data-dir --output'
		case $prev in
		--admin|-a) flags= words='' ;;
		--admin-token-file) flags= words='' ;;
		--ca) flags= words='' ;;
		--data-dir) flags= words='' ;;
		--output|-o) flags= words='text json' ;;
		esac ;;
		config)
		flags='--help --quiet --admin --admin-token-file --ca --data-dir --output'
		case $prev in
		--admin|-a) flags= words='' ;;
		--admin-token-file) flags= words='' ;;
		--ca) flags= words='' ;;
		--data-dir) flags= words='' ;;
		--output|-o) flags= words='text json' ;;
		esac ;;
		profile)
		flags='--help --quiet --admin --admin-token-file --ca --data-dir --seconds'
		words='cpu heap goroutine mutex block trace'
		case $prev in
		--admin|-a) flags= words='' ;;
		--admin-token-file) flags= words='' ;;
		--ca) flags= words='' ;;
		--data-dir) flags= words='' ;;
		--seconds) flags= words='' ;;
		esac ;;
		esac ;;
	upgrade)
		flags='--help --quiet --admin --admin-token-file --ca --data-dir'
		case $prev in
		--admin|-a) flags= words='' ;;
		--admin-token-file) flags= words='' ;;
		--ca) flags= words='' ;;
		--data-dir) flags= words='' ;;
		esac ;;
	schema)
		flags='--help --quiet'
		case $prev in
		esac ;;
	passwd)
		flags='--help --quiet --delete'
		case $prev in
		esac ;;
	backup)
		flags='--help --quiet --admin --admin-token-file --ca --data-dir'
		case $prev in
		--admin|-a) flags= words='' ;;
		--admin-token-file) flags= words='' ;;
		--ca) flags= words='' ;;
		--data-dir) flags= words='' ;;
		esac ;;
	restore)
		flags='--help --quiet --data-dir --as-new-node'
		case $prev in
		--data-dir) flags= words='' ;;
		esac ;;
	pub)
		flags='--help --quiet --addr --ca --token-file --data-dir --type --ack --max --spool --spool-max'
		case $prev in
		--addr|-a) flags= words='' ;;
		--ca) flags= words='' ;;
		--token-file) flags= words='' ;;
		--data-dir) flags= words='' ;;
		--type|-t) flags= words='raw cbor json y3 y3n bson msgpack protobuf' ;;
		--max) flags= words='' ;;
		--spool) flags= words='' ;;
		--spool-max) flags= words='' ;;
		esac ;;
	sub)
		flags='--help --quiet --addr --ca --token-file --data-dir --where --from --durable --policy --schema --message --count --output'
		case $prev in
		--addr|-a) flags= words='' ;;
		--ca) flags= words='' ;;
		--token-file) flags= words='' ;;
		--data-dir) flags= words='' ;;
		--where) flags= words='' ;;
		--from) flags= words='' ;;
		--durable) flags= words='' ;;
		--policy) flags= words='block drop-oldest drop-newest' ;;
		--schema) flags= words='' ;;
		--message) flags= words='' ;;
		--count|-n) flags= words='' ;;
		--output|-o) flags= words='json raw' ;;
		esac ;;
	stream)
		for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
			case $word in
			ls|info|purge|copy|rm|rm-durable|reset-durable|verify|replay-dead-letters) sub=$word; break ;;
			esac
		done
		case $sub in
		'') flags='--help' words='ls info purge copy rm rm-durable reset-durable verify replay-dead-letters' ;;
		ls)
		flags='--help --quiet --admin --admin-token-file --ca --data-dir --output'
		case $prev in
		--admin|-a) flags= words='' ;;
		--admin-token-file) flags= words='' ;;
		--ca) flags= words='' ;;
		--data-dir) flags= words='' ;;
		--output|-o) flags= words='text json' ;;
		esac ;;
		info)
		flags='--help --quiet --admin --admin-token-file --ca --data-dir --output'
		case $prev in
		--admin|-a) flags= words='' ;;
		--admin-token-file) flags= words='' ;;
		--ca) flags= words='' ;;
		--data-dir) flags= words='' ;;
		--output|-o) flags= words='text json' ;;
		esac ;;
		purge)
		flags='--help --quiet --admin --admin-token-file --ca --data-dir --output --tags --before'
		case $prev in
		--admin|-a) flags= words='' ;;
		--admin-token-file) flags= words='' ;;
		--ca) flags= words='' ;;
		--data-dir) flags= words='' ;;
		--output|-o) flags= words='text json' ;;
		--tags) flags= words='' ;;
		--before) flags= words='' ;;
		esac ;;
		copy)
		flags='--help --quiet --admin --admin-token-file --ca --data-dir --from --from-dir --to --to-dir --credentials-file --engine-ca'
		case $prev in
		--admin|-a) flags= words='' ;;
		--admin-token-file) flags= words='' ;;
		--ca) flags= words='' ;;
		--data-dir) flags= words='' ;;
		--from) flags= words='' ;;
		--from-dir) flags= words='' ;;
		--to) flags= words='' ;;
		--to-dir) flags= words='' ;;
		--credentials-file) flags= words='' ;;
		--engine-ca) flags= words='' ;;
		esac ;;
		rm)
		flags='--help --quiet --data-dir'
		case $prev in
		--data-dir) flags= words='' ;;
		esac ;;
		rm-durable)
		flags='--help --quiet --admin --admin-token-file --ca --data-dir --output'
		case $prev in
		--admin|-a) flags= words='' ;;
		--admin-token-file) flags= words='' ;;
		--ca) flags= words='' ;;
		--data-dir) flags= words='' ;;
		--output|-o) flags= words='text json' ;;
		esac ;;
		reset-durable)
		flags='--help --quiet --admin --admin-token-file --ca --data-dir --output'
		case $prev in
		--admin|-a) flags= words='' ;;
		--admin-token-file) flags= words='' ;;
		--ca) flags= words='' ;;
		--data-dir) flags= words='' ;;
		--output|-o) flags= words='text json' ;;
		esac ;;
		verify)
		flags='--help --quiet --output'
		case $prev in
		--output|-o) flags= words='text json' ;;
		esac ;;
		replay-dead-letters)
		flags='--help --quiet --admin --admin-token-file --ca --data-dir --output --sequence'
		case $prev in
		--admin|-a) flags= words='' ;;
		--admin-token-file) flags= words='' ;;
		--ca) flags= words='' ;;
		--data-dir) flags= words='' ;;
		--output|-o) flags= words='text json' ;;
		--sequence) flags= words='' ;;
		esac ;;
		esac ;;
	new)
		for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
			case $word in
			function) sub=$word; break ;;
			esac
		done
		case $sub in
		'') flags='--help' words='function' ;;
		function)
		flags='--help --quiet --lang'
		case $prev in
		--lang) flags= words='go javascript python rust' ;;
		esac ;;
		esac ;;
	deploy)
		flags='--help --quiet --addr --ca --token-file --data-dir --observe --where --group --durable --from --cpu --timeout --memory --concurrency --list --rollback --remove --output'
		case $prev in
		--addr|-a) flags= words='' ;;
		--ca) flags= words='' ;;
		--token-file) flags= words='' ;;
		--data-dir) flags= words='' ;;
		--observe) flags= words='' ;;
		--where) flags= words='' ;;
		--group) flags= words='' ;;
		--durable) flags= words='' ;;
		--from) flags= words='' ;;
		--cpu) flags= words='heavy light' ;;
		--timeout) flags= words='' ;;
		--memory) flags= words='' ;;
		--concurrency) flags= words='' ;;
		--rollback) flags= words='' ;;
		--remove) flags= words='' ;;
		--output|-o) flags= words='text json' ;;
		esac ;;
	dev)
		flags='--help --quiet --listen'
		case $prev in
		--listen) flags= words='' ;;
		esac ;;
	call)
		flags='--help --quiet --ca --data-dir --cert --key --token-file --protocol --content --schema --compression --metadata --timeout --output'
		case $prev in
		--ca) flags= words='' ;;
		--data-dir) flags= words='' ;;
		--cert) flags= words='' ;;
		--key) flags= words='' ;;
		--token-file) flags= words='' ;;
		--protocol) flags= words='rpc grpc http' ;;
		--content) flags= words='' ;;
		--schema) flags= words='' ;;
		--compression) flags= words='gzip zstd' ;;
		--metadata) flags= words='' ;;
		--timeout) flags= words='' ;;
		--output|-o) flags= words='text json' ;;
		esac ;;
	load)
		flags='--help --quiet --rate --constant --closed --workers --conns --requests --duration --warm-up --max-late --timeout --method --content --schema --metadata --matrix --transport --server --pub --http2 --dialect --verb --header --expect --data --file --size --ca --data-dir --token-file --output --svg'
		case $prev in
		--rate|-r) flags= words='' ;;
		--workers|-c) flags= words='' ;;
		--conns) flags= words='' ;;
		--requests|-n) flags= words='' ;;
		--duration|-t) flags= words='' ;;
		--warm-up) flags= words='' ;;
		--max-late) flags= words='' ;;
		--timeout) flags= words='' ;;
		--method|-m) flags= words='' ;;
		--content) flags= words='' ;;
		--schema) flags= words='' ;;
		--metadata) flags= words='' ;;
		--transport) flags= words='' ;;
		--server) flags= words='' ;;
		--pub) flags= words='' ;;
		--dialect) flags= words='v1 v2 v2crc' ;;
		--verb|-X) flags= words='' ;;
		--header|-H) flags= words='' ;;
		--expect) flags= words='' ;;
		--data|-d) flags= words='' ;;
		--file) flags= words='' ;;
		--size) flags= words='' ;;
		--ca) flags= words='' ;;
		--data-dir) flags= words='' ;;
		--token-file) flags= words='' ;;
		--output|-o) flags= words='text json' ;;
		--svg) flags= words='' ;;
		esac ;;
	get)
		flags='--help --quiet --type --as --output --schema --message --max'
		case $prev in
		--type|-t) flags= words='cbor json y3 y3n bson msgpack protobuf' ;;
		--as) flags= words='int32 uint32 int64 uint64 float32 float64 string bool bytes' ;;
		--output|-o) flags= words='text json' ;;
		--schema) flags= words='' ;;
		--message) flags= words='' ;;
		--max) flags= words='' ;;
		esac ;;
	set)
		flags='--help --quiet --type --as --schema --message --max'
		case $prev in
		--type|-t) flags= words='cbor json y3 y3n bson msgpack protobuf' ;;
		--as) flags= words='int32 uint32 int64 uint64 float32 float64 string bool bytes' ;;
		--schema) flags= words='' ;;
		--message) flags= words='' ;;
		--max) flags= words='' ;;
		esac ;;
	convert)
		flags='--help --quiet --from --to --schema --message --max'
		case $prev in
		--from) flags= words='cbor json y3 y3n bson msgpack protobuf' ;;
		--to) flags= words='cbor json y3 y3n bson msgpack protobuf' ;;
		--schema) flags= words='' ;;
		--message) flags= words='' ;;
		--max) flags= words='' ;;
		esac ;;
	conformance)
		for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
			case $word in
			client|node) sub=$word; break ;;
			esac
		done
		case $sub in
		'') flags='--help' words='client node' ;;
		client)
		flags='--help --quiet --run --timeout --output'
		case $prev in
		--run) flags= words='' ;;
		--timeout) flags= words='' ;;
		--output|-o) flags= words='text json' ;;
		esac ;;
		node)
		flags='--help --quiet --run --timeout --output --ca --token-file --data-dir --tags --stored --forbidden'
		case $prev in
		--run) flags= words='' ;;
		--timeout) flags= words='' ;;
		--output|-o) flags= words='text json' ;;
		--ca) flags= words='' ;;
		--token-file) flags= words='' ;;
		--data-dir) flags= words='' ;;
		--tags) flags= words='' ;;
		--stored) flags= words='' ;;
		--forbidden) flags= words='' ;;
		esac ;;
		esac ;;
	completion)
		flags='--help --quiet'
		words='bash zsh fish'
		case $prev in
		esac ;;
	version)
		flags='--help --quiet --output'
		case $prev in
		--output|-o) flags= words='text json' ;;
		esac ;;
	esac
	if [[ $cur == -* ]]; then
		COMPREPLY=($(compgen -W "$flags" -- "$cur"))
	elif [[ $words ]]; then
		COMPREPLY=($(compgen -W "$words" -- "$cur"))
	else
		COMPREPLY=($(compgen -f -- "$cur"))
	fi
}
complete -o filenames -F _ferry ferry
