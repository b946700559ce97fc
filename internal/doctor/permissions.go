package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"example.com/ferry/internal/pki"
	"example.com/ferry/proxy"
)

// permissions looks at who may read the secrets of the node, and whether this user may write its data.
func (x *exam) permissions() {
	if x.Machine.User < 0 {
		x.unchecked("not checked on %s", x.Machine.OS)
		return
	}
	x.dataPermissions()
	for _, name := range x.Node.TokenFiles() {
		x.secret(name, "a token, with which every user who reads it can act as that client")
	}
	if name := x.Node.MQTT.PasswordFile; name != "" {
		x.secret(name, "hashes of passwords, which every user who reads them can guess")
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
			x.noDirectory(Finding{
				What: fmt.Sprintf("%s does not exist, and user %d may not make it in %s", absolute(dir), x.Machine.User, parent), Where: where,
				Mend: fmt.Sprintf("sudo install -d -o %d -m 700 %s; or name another data_dir", x.Machine.User, absolute(dir)),
			})
		}
		return
	case err != nil:
		x.unchecked("%v: look as the user of the node: sudo -u USER ferry doctor", err)
		return
	case !info.IsDir():
		x.noDirectory(Finding{What: dir + " is not a directory", Where: where, Mend: "name another data_dir, or move the file away"})
		return
	}
	if err := x.Machine.Writable(dir); err != nil {
		x.noDirectory(Finding{
			What: fmt.Sprintf("user %d may not write in %s", x.Machine.User, dir), Where: where,
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
		x.secret(filepath.Join(dir, name), "a secret of the node, with which every user who reads it can do everything there")
	}
}

// noDirectory reports a data_dir that the node cannot use: a fault, if the node keeps its authority and streams there. A node with only a
// proxy has its token for actions there, or none if admin.token_file is set.
func (x *exam) noDirectory(f Finding) {
	a, p := x.Node.Admin, x.Node.Proxy
	switch {
	case len(x.Node.Listeners) > 0 || a.OwnCertificate() || p != nil && slices.ContainsFunc(p.Listeners, func(l proxy.Listener) bool { return l.UsesNodeCertificate() }):
		f.Why = "a node that this user runs does not start"
		x.fault(f)
	case a.Address != "" && a.TokenFile == "":
		f.Why = "the node starts, and refuses all actions of its admin server (403), such as ferry admin endpoint and ferry upgrade: it has no token for them"
		f.Mend += "; or set admin.token_file"
		x.warning(f)
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
