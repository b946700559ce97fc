package conformance

import "slices"

// clientCases returns the cases for clients. A case about a later feature stands behind those of what it uses.
func clientCases() []clientCase {
	return slices.Concat(clientHandshake(), clientPublish(), clientCredit(), clientObserve(), clientConnection(), clientMalformed(),
		clientStored(), clientDurable(), clientCall(), clientServe())
}

// nodeCases returns the cases for nodes.
func nodeCases() []nodeCase {
	return slices.Concat(nodeHandshake(), nodePublish(), nodeObserve(), nodeConnection(), nodeStored(), nodeCalls())
}
