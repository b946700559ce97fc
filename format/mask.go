package format

// Masker is a Format that knows which bits of a valid message do not matter to Validate. A Validator uses it. A type that embeds a Masker
// and refuses more in its own Validate needs its own Mask, too: else a Validator accepts what the type refuses.
type Masker interface {
	// Mask sets the bits of mask that decide whether data is valid, and clears the others. mask is as long as data, for which
	// Validate has returned nil. Then Validate also returns nil, with the same Options, for each message of the same length
	// that is equal to data in the bits that are set. If Mask returns false, the content of mask has no meaning.
	Mask(mask, data []byte) bool
}
