// Package core is troupe's own dialect: the full model, as tools of a model. It turns
// the parameters of a tool into a request, and the record of a job with what it wrote
// into a result: a structure that is complete by itself, and a text that says the same.
// Some front ends show their model only the structure, others only the text. So neither
// may leave anything out.
//
// It is pure: what it must know of the machine is given to it.
package core
