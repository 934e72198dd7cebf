@rem npm runs `exec node ...` in the shell of the system: exec is part of sh, and on Windows it is this file.
@%*
