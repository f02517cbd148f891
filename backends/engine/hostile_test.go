package engine

const hostileVar = "TROUPE_ENGINE_HOSTILE"

func hostile(play string) {}
