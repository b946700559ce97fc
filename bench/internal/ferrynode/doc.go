// Package ferrynode builds the binary that this commit ships, and waits for a node that runs it.
//
//	if err := ferrynode.Build(dir); err != nil {
//		return err
//	}
//	admin, err := ferrynode.FreeAddr()
//	...
//	cmd := exec.Command(filepath.Join(dir, ferrynode.Binary), "run", "-c", "node.yaml")
//	...
//	err = ferrynode.WaitReady(admin)
package ferrynode
