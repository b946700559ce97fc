// Package ferrynode builds the ferry binary of this commit, and waits until a started node is ready.
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
