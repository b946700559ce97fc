package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"example.com/ferry/internal/pki"
)

// permissions looks at who may read the secrets of the node, and whether this user may write its data.
func (x *exam) permissions() {
	if x.Machine.User < 0 {
		x.unchecked("not checked on %s", x.Machine.OS)
		return
	}
	x.dataPermissions()
	for _, name := range x.Node.TokenFiles() {
		x.secret(name, "a token: who has it is that client")
	}
	x.fine("no other user may read the secrets of the node")
}

// dataPermissions looks at data_dir and the secrets in it.
func (x *exam) dataPermissions() {
	dir, where := x.Node.DataDir, x.at("data_dir")
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		parent := existingFolder(dir)
		if err := x.Machine.Writable(parent); err != nil {
			x.fault(Finding{
				What: fmt.Sprintf("%s does not exist, and user %d may not make it in %s", absolute(dir), x.Machine.User, parent), Where: where,
				Why: "the node does not start", Mend: fmt.Sprintf("sudo install -d -o %d -m 700 %s; or name another data_dir", x.Machine.User, absolute(dir)),
			})
		}
		return
	case err != nil:
		x.unchecked("%v: look as the user of the node: sudo -u USER ferry doctor", err)
		return
	case !info.IsDir():
		x.fault(Finding{What: dir + " is not a directory", Where: where, Why: "the node does not start", Mend: "name another data_dir, or move the file away"})
		return
	}
	if err := x.Machine.Writable(dir); err != nil {
		x.fault(Finding{
			What: fmt.Sprintf("user %d may not write in %s", x.Machine.User, dir), Where: where, Why: "a node that this user runs does not start",
			Mend: fmt.Sprintf("run ferry as the owner of the directory, or: sudo chown -R %d %s", x.Machine.User, absolute(dir)),
		})
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		x.fault(Finding{
			What: fmt.Sprintf("other users may write in %s (mode %#o)", dir, mode), Where: where,
			Why: "they can replace the certificate authority and the token", Mend: "chmod 700 " + absolute(dir),
		})
	}
	for _, name := range []string{pki.TokenFile, pki.CAKeyFile, pki.ServerKeyFile} {
		x.secret(filepath.Join(dir, name), "a secret of the node: who has it may do everything there")
	}
}

// secret reports a file that other users may read.
func (x *exam) secret(name, what string) {
	info, err := os.Stat(name)
	if err != nil {
		return // check reports files that the configuration names, and the node makes those of data_dir
	}
	f := Finding{Where: name, Why: "the file has " + what}
	switch mode := info.Mode().Perm(); {
	case mode&0o007 != 0:
		f.What, f.Mend = fmt.Sprintf("every user of this machine may use %s (mode %#o)", name, mode), "chmod 600 "+absolute(name)
		x.fault(f)
	case mode&0o020 != 0:
		f.What, f.Mend = fmt.Sprintf("the group of %s may change it (mode %#o)", name, mode), "chmod 640 "+absolute(name)
		x.warning(f)
	}
}
