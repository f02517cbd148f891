// Command modulepath sets the path of the module: in each go.mod of the tree, in all imports, and in
// the documents that name it. The path of a module is where the go command fetches it.
//
//	go -C tools run ./modulepath HOST/OWNER/troupe     as make module runs it
//
// Files:
//
//	main.go  visits the files of the tree
package main
