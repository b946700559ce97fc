// Package live has the input and the functions that every node can run: this machine's sensors as EdgeX events, their moving
// averages, alerts, and checksums.
//
// Sensors publishes on sensors/HOST/NAME ten times a second. The function averages publishes on averages/HOST/NAME. The
// function alerts observes those with a predicate that the node evaluates on the encoded bytes, and publishes alerts on
// alerts/HOST/NAME. To see one without heating a machine, publish a hot average:
//
//	echo '{"deviceName":"demo","sourceName":"cpu","readings":[{"resourceName":"cpu","value":"99"}]}' |
//		ferry pub -t json averages/demo/cpu
package live
