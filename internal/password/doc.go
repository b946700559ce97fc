// Package password hashes passwords, and compares passwords with hashes. It reads the hashes of argon2id and bcrypt, and those of mosquitto's password file.
//
//	hash, err := password.New([]byte("correct horse"))   // $argon2id$v=19$m=19456,t=2,p=1$...
//	ok := password.Hash(hash).Matches([]byte("correct horse"))
//
// Comparing takes about 30 ms of CPU time on purpose, and up to 64 MiB of memory: the caller bounds how many comparisons run at once.
package password
