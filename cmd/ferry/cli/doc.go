// Package cli is the command line of ferry, for any set of formats, transports and functions.
//
// Each verb is one file: a struct that package cmdline fills from the command line, and its Run method. Run takes the arguments and the
// three standard streams, and returns the exit status; Main is Run for this process.
//
//	func main() {
//		formats := append(all.Formats(), tlv.Format{})
//		os.Exit(cli.Main(node.Extensions{
//			Formats:    formats,
//			Transports: append(node.Transports(), node.Transport{Descriptor: serial.Descriptor, New: serial.New}),
//			Functions:  node.Functions(formats),
//		}))
//	}
package cli
