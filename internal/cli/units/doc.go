// Package units installs the daemon as a service of its user: it writes the units that the program
// holds, and removes them.
//
//	install.go       writes the units
//	manager.go       the service manager of the user
//	surroundings.go  the directories of the caller and of the service manager
//	unit.go          a unit file: the path of the program, and what the service needs
//	uninstall.go     removes the units
package units
