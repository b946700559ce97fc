package native

// RaceEnabled says that the race detector runs, which allocates.
const RaceEnabled = overwriteFreed
