// Package deploy keeps the functions that were deployed on a running node: their modules and their specifications, several versions
// of each, in the data directory. It also has the messages of the service by which they are deployed (docs/native.md).
//
//	store, err := deploy.Open("ferry-data/functions")
//	added, err := store.Add(deploy.Spec{Name: "alerts", Observe: []string{"sensors/#"}}, module, time.Now())
//	...                             // the node starts it
//	err = store.Commit(added)       // and from now on also after a restart
package deploy
