package node

// prepareAdmin.
func (n *Node) prepareAdmin(r *reload) (change, error) {
	if f := r.last.Changed(r.next, "admin"); len(f) > 0 {
		return change{}, needsRestart(f[0])
	}
	return change{}, nil
}
