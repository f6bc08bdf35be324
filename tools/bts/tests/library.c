// SPDX-License-Identifier: GPL-2.0-only
/*
 * What does a shared library do? It calls the program back.
 */
int library_call(int (*callback)(int), int value);

int library_call(int (*callback)(int), int value)
{
	return callback(value) + 1;
}
