/** Token ids and counts fit llama.cpp's int32. */
export const INT32_MAX = 2 ** 31 - 1;
