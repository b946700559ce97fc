// Package live is the input and the functions a node brings itself: this machine's sensors as EdgeX events, their moving
// averages, alerts, and checksums that keep a core busy.
//
// Sensors publishes on sensors/HOST/NAME ten times a second. The function averages answers on averages/HOST/NAME. The
// function alerts observes those with a predicate that the node tests on the encoded bytes, and passes what it gets on
// to alerts/HOST/NAME. To see one without heating a machine, publish a hot average:
//
//	echo '{"deviceName":"demo","sourceName":"cpu","readings":[{"resourceName":"cpu","value":"99"}]}' |
//		ferry pub -t json averages/demo/cpu
package live
