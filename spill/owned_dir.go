package spill

import "os"

// What makes a directory its owner's, for directories that are not a store's: the
// owner holds the lock of the file OwnerLock in it for as long as it lives.

// OwnerLock is the name of that file.
const OwnerLock = lockName

// DeadSuffix ends the name of a directory on its way out.
const DeadSuffix = deadSuffix

// TryLock takes the exclusive lock of an open file and never waits; false says that
// somebody else has it.
func TryLock(f *os.File) (bool, error) { return tryLock(f) }

// RemoveOwned removes the directory name of parent, whose lock the caller holds.
func RemoveOwned(parent, name string) error { return removeNode(parent, name) }

// SweepOwned removes the directory name of parent if its owner is dead, and says
// whether it did. One without the file OwnerLock is nobody's and stays.
func SweepOwned(parent, name string) (bool, error) { return sweepNode(parent, name, nil) }
